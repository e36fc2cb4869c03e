// Rookery's plugin for OpenCode, written by `rook init`; `rook init --undo` takes it back.
// It asks before a tool runs, and hands over mail of other agents. Change rookery.toml rather than this file.
import { spawn } from "node:child_process"

const HOST = "opencode"
// @ASK@

export const Rookery = async ({ client, directory }) => {
  const greetings = new Map() // by session: who it is, kept in its system prompt
  const held = new Set() // sessions whose turn went on because of us
  const ours = new Set() // texts that we put in, and so no prompts
  const warned = new Map() // by call: said before a tool, and heard by the model with its result

  const beside = sentry((text, session) =>
    client.session.promptAsync({ path: { id: session }, body: { parts: [{ type: "text", text }] } }).catch(() => {}),
  )
  const ask = (moment, session, more) => rook(moment, { session: session ?? "", cwd: directory, ...more })

  async function greet(session) {
    if (greetings.has(session)) return
    greetings.set(session, "")
    const { context } = await ask("start", session)
    if (context) greetings.set(session, context)
  }

  return {
    event: async ({ event }) => {
      const session = event.properties?.info
      if (event.type === "session.created" && session?.id && !session.parentID) await greet(session.id)
      const about = event.properties?.sessionID
      // Of sessions that were greeted; those of agents inside have a parent, and end unnoticed.
      if (event.type === "session.idle" && greetings.has(about)) {
        beside.stay({ session: about, cwd: directory }, about)
      }
      if (event.type === "permission.asked" && greetings.has(about)) await ask("blocked", about)
      if (event.type === "session.deleted" && session?.id) {
        greetings.delete(session.id)
        held.delete(session.id)
      }
    },
    "chat.message": async (input, output) => {
      const part = output.parts?.findLast((each) => each.type === "text")
      if (part && ours.delete(part.text)) return
      beside.leave()
      held.delete(input.sessionID)
      await greet(input.sessionID)
      const { context } = await ask("prompt", input.sessionID, { prompt: part?.text ?? "" })
      if (context && part) part.text += `\n\n${context}`
    },
    "experimental.chat.system.transform": async (input, output) => {
      const greeting = greetings.get(input?.sessionID) ?? [...greetings.values()].findLast(Boolean)
      if (greeting) output.system.push(greeting)
    },
    "tool.execute.before": async (input, output) => {
      const about = { tool: input.tool, input: output.args ?? {}, call: input.callID ?? "" }
      const answer = await ask("before", input.sessionID, about)
      const refusal = answer.deny ?? answer.ask // a plugin can not have its user asked
      if (refusal) throw new Error(refusal)
      if (answer.context) warned.set(input.callID, answer.context)
    },
    "tool.execute.after": async (input, output) => {
      const about = { tool: input.tool, input: input.args ?? {}, call: input.callID ?? "" }
      const news = (await ask("after", input.sessionID, about)).context
      const context = [warned.get(input.callID), news].filter(Boolean).join("\n\n")
      warned.delete(input.callID)
      if (!context) return
      if (Array.isArray(output.content)) output.content.push({ type: "text", text: context }) // of an MCP server
      else output.output = `${output.output ?? ""}\n${context}`
    },
    // Awaited while the turn still runs: what is put behind the model's last text is answered before the turn ends.
    "experimental.text.complete": async (input) => {
      const { hold } = await ask("stop", input.sessionID, { again: held.has(input.sessionID) })
      if (!hold) return
      held.add(input.sessionID)
      ours.add(hold)
      const body = { noReply: true, parts: [{ type: "text", text: hold }] }
      await client.session.prompt({ path: { id: input.sessionID }, body })
    },
  }
}
