// What hook.py is to the other programs: it writes down what it is given and answers by rules.json. @FOLDER@ is filled in.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"

const folder = "@FOLDER@"
const rules = JSON.parse(readFileSync(`${folder}/rules.json`, "utf8"))

function writeDown(moment, given) {
  appendFileSync(`${folder}/hooks.jsonl`, JSON.stringify({ moment, given }) + "\n")
}

function firstTime(mark) {
  if (existsSync(mark)) return false
  writeFileSync(mark, "")
  return true
}

export const Rig = async ({ client }) => ({
  event: async ({ event }) => {
    if (event.type === "session.created") writeDown("start", event)
    if (event.type !== "session.idle") return
    writeDown("stop", event)
    if (rules.hold && firstTime(`${folder}/held`)) {
      const parts = [{ type: "text", text: rules.hold }]
      await client.session.promptAsync({ path: { id: event.properties.sessionID }, body: { parts } })
    }
  },
  "chat.message": async (input, output) => {
    writeDown("prompt", { input, output })
  },
  "experimental.chat.system.transform": async (input, output) => {
    if (rules.greeting) output.system.push(rules.greeting)
  },
  "tool.execute.before": async (input, output) => {
    writeDown("before", { input, output })
    if (rules.deny && JSON.stringify(output.args).includes(rules.deny.path)) throw new Error(rules.deny.reason)
  },
  "tool.execute.after": async (input, output) => {
    writeDown("after", { input, output })
    if (rules.context) output.output += `\n${rules.context}`
  },
})
