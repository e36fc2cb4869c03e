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
    if (event.type === "session.idle") writeDown("idle", event)
  },
  // Awaited while the turn still runs: a message put behind the model's last text is answered before the turn ends.
  // At session.idle it would be too late, for `opencode run` ends there.
  "experimental.text.complete": async (input, output) => {
    writeDown("stop", { input, output })
    if (rules.hold && firstTime(`${folder}/held`)) {
      const body = { noReply: true, parts: [{ type: "text", text: rules.hold }] }
      await client.session.prompt({ path: { id: input.sessionID }, body })
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
    if (!rules.context) return
    if (output.content) output.content.push({ type: "text", text: rules.context }) // a tool of an MCP server
    else output.output += `\n${rules.context}`
  },
})
