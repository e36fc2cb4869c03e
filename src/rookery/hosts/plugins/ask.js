// Asks `rook hook`: the event on standard input, the answer on standard output. No shell is in between.
const ROOK = "@ROOK@"
const CLOSED = "@CLOSED@" // a tool whose question gets no answer is refused
const DEADLINE_MS = 2000 // rook's own is 1.5 s; this one is for a rook that does not start
const LIMIT = 1 << 20

function rook(moment, event) {
  const fallback = (why) =>
    CLOSED && moment === "before" ? { deny: `Rookery did not answer (${why}); its hook was set up to refuse then.` } : {}
  return new Promise((resolve) => {
    const words = ["hook", HOST, moment, ...(CLOSED && moment === "before" ? ["--closed"] : [])]
    let child
    try {
      child = spawn(ROOK, words, { cwd: event.cwd, stdio: ["pipe", "pipe", "pipe"] })
    } catch (error) {
      return resolve(fallback(error.message))
    }
    let out = ""
    let err = ""
    const timer = setTimeout(() => {
      child.kill("SIGKILL")
      resolve(fallback("too late"))
    }, DEADLINE_MS)
    const finish = (answer) => {
      clearTimeout(timer)
      resolve(answer)
    }
    child.stdout.setEncoding("utf8").on("data", (text) => { if (out.length < LIMIT) out += text })
    child.stderr.setEncoding("utf8").on("data", (text) => { if (err.length < LIMIT) err += text })
    child.stdin.on("error", () => {}) // it may have ended without reading
    child.on("error", (error) => finish(fallback(error.message)))
    child.on("close", (code) => finish(understood(code, out, err, moment, fallback)))
    child.stdin.end(JSON.stringify({ event: moment, ...event }))
  })
}

function understood(code, out, err, moment, fallback) {
  if (code === 2 && moment === "before") return { deny: err.trim() || "Rookery refused this." }
  if (code !== 0) return fallback(`exit code ${code}`)
  if (!out.trim()) return {}
  try {
    const answer = JSON.parse(out)
    return answer && typeof answer === "object" ? answer : fallback("no answer of its form")
  } catch {
    return fallback("no answer of its form")
  }
}

// A process beside the idle program: it ends with the mail when there is some. What it said is always put in, also if
// the program has become busy meanwhile, for by then it was written down as shown.
function sentry(woken) {
  let child
  const leave = () => {
    child?.kill()
    child = undefined
  }
  process.on("exit", leave)
  const stay = (event, about) => {
    leave()
    try {
      child = spawn(ROOK, ["hook", HOST, "idle"], { cwd: event.cwd, stdio: ["pipe", "pipe", "ignore"] })
    } catch {
      return
    }
    const mine = child
    let out = ""
    mine.stdout.setEncoding("utf8").on("data", (text) => { if (out.length < LIMIT) out += text })
    mine.stdin.on("error", () => {})
    mine.on("error", () => {})
    mine.on("close", (code) => {
      if (child === mine) child = undefined
      const { wake } = understood(code ?? 1, out, "", "idle", () => ({}))
      if (wake) woken(wake, about)
    })
    mine.stdin.end(JSON.stringify({ event: "idle", ...event }))
    mine.unref() // the program may end, and then so does it
    mine.stdout.unref?.()
  }
  return { stay, leave }
}
