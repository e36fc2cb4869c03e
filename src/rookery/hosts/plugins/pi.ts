// Rookery's extension for pi, written by `rook init`; `rook init --undo` takes it back.
// It asks before a tool runs, and hands over mail of other agents. Change rookery.toml rather than this file.
import { spawn } from "node:child_process"

const HOST = "pi"
// @ASK@

export default function (pi) {
  let greeting = ""
  let held = false // this turn went on because of us
  const warned = new Map() // by call: said before a tool, and heard by the model with its result

  const beside = sentry((text) => pi.sendUserMessage(text, { deliverAs: "followUp" }))
  const place = (context) => ({
    session: context?.sessionManager?.getSessionId?.() ?? "",
    transcript: context?.sessionManager?.getSessionFile?.() ?? "",
    cwd: context?.cwd ?? process.cwd(),
  })
  const ask = (moment, context, more = {}) => rook(moment, { ...place(context), ...more })
  // Without someone to answer it ends with its turn.
  const rest = (context) => { if (context?.hasUI) beside.stay(place(context)) }

  pi.on("session_start", async (_event, context) => {
    greeting = (await ask("start", context)).context ?? ""
    rest(context)
  })
  pi.on("agent_settled", (_event, context) => rest(context))
  pi.on("before_agent_start", async (event, context) => {
    beside.leave()
    held = false
    const news = (await ask("prompt", context, { prompt: event?.prompt ?? "" })).context
    const content = [greeting, news].filter(Boolean).join("\n\n")
    greeting = ""
    if (content) return { message: { customType: "rookery", content, display: true } }
  })
  pi.on("tool_call", async (event, context) => {
    const about = { tool: event.toolName, input: event.input ?? {}, call: event.toolCallId ?? "" }
    const answer = await ask("before", context, about)
    const reason = answer.deny ?? answer.ask // an extension decides at once
    if (reason) return { block: true, reason }
    if (answer.context) warned.set(event.toolCallId, answer.context)
  })
  pi.on("tool_result", async (event, context) => {
    const about = { tool: event.toolName, input: event.input ?? {}, call: event.toolCallId ?? "" }
    const news = (await ask("after", context, about)).context
    const text = [warned.get(event.toolCallId), news].filter(Boolean).join("\n\n")
    warned.delete(event.toolCallId)
    if (text) return { content: [...(event.content ?? []), { type: "text", text }] }
  })
  pi.on("agent_before_settle", async (event, context) => {
    const { hold } = await ask("stop", context, { again: held })
    if (!hold) return
    held = true
    const entry = { type: "custom_message", customType: "rookery", content: hold, display: true }
    return { entries: [...(event.entries ?? []), entry], continue: true }
  })
  pi.on("session_shutdown", async (_event, context) => {
    beside.leave()
    await ask("end", context)
  })
}
