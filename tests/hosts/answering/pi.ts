// What hook.py is to the other programs: it writes down what it is given and answers by rules.json. @FOLDER@ is filled in.
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs"

const folder = "@FOLDER@"
const rules = JSON.parse(readFileSync(`${folder}/rules.json`, "utf8"))

function writeDown(moment: string, given: unknown) {
  appendFileSync(`${folder}/hooks.jsonl`, JSON.stringify({ moment, given }) + "\n")
}

function firstTime(mark: string) {
  if (existsSync(mark)) return false
  writeFileSync(mark, "")
  return true
}

export default function (pi: any) {
  pi.on("session_start", (event: any) => writeDown("start", event))
  // Of the prompt and the end only the head is written down: the rest repeats the system prompt and the conversation.
  pi.on("before_agent_start", (event: any) => {
    writeDown("prompt", { type: event.type, prompt: event.prompt })
    if (rules.greeting) return { message: { customType: "rig", content: rules.greeting, display: true } }
  })
  pi.on("tool_call", (event: any) => {
    writeDown("before", event)
    if (rules.deny && JSON.stringify(event.input).includes(rules.deny.path)) {
      return { block: true, reason: rules.deny.reason }
    }
  })
  pi.on("tool_result", (event: any) => {
    writeDown("after", event)
    if (rules.context) return { content: [...event.content, { type: "text", text: rules.context }] }
  })
  pi.on("agent_before_settle", (event: any) => {
    writeDown("stop", { type: event.type, outcome: event.outcome, entries: event.entries, continue: event.continue })
    if (rules.hold && firstTime(`${folder}/held`)) {
      const entry = { type: "custom_message", customType: "rig", content: rules.hold, display: true }
      return { entries: [...event.entries, entry], continue: true }
    }
  })
  pi.on("session_shutdown", (event: any) => writeDown("end", event))
}
