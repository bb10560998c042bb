/**
 * Loaded before the service (`NODE_OPTIONS=--import`): its wall clock is off by what a file says, and jumps when the
 * file changes. Timers and performance.now() are not affected, as when a machine's clock is set. File times come from
 * the real clock, so they are shifted too: each by the offset at the time it was written.
 */
import child from 'node:child_process'
import fs from 'node:fs'
import promises from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const file = process.env.TORTURE_CLOCK_FILE
const LOOK_MS = 20

if (file) {
  const RealDate = Date
  const realNow = RealDate.now.bind(RealDate)
  /** The offsets of the clock and since when each holds, the newest last. */
  let history = read()
  setInterval(() => {
    history = read()
  }, LOOK_MS).unref()

  function read() {
    try {
      return JSON.parse(fs.readFileSync(file, 'utf8'))
    } catch {
      // It is being written: the next read gets it.
      return history ?? []
    }
  }
  const shiftAt = (ms) => history.findLast(([since]) => since <= ms)?.[1] ?? 0
  const now = () => {
    const real = realNow()
    return real + shiftAt(real)
  }

  globalThis.Date = new Proxy(RealDate, {
    construct: (target, args, self) => Reflect.construct(target, args.length === 0 ? [now()] : args, self),
    apply: () => new RealDate(now()).toString(),
    get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  })

  const { stat, utimes } = promises
  promises.stat = async (...args) => {
    const found = await stat(...args)
    found.mtimeMs = Number(found.mtimeMs) + shiftAt(Number(found.mtimeMs))
    return found
  }
  promises.utimes = (path, accessed, modified) => {
    const shift = shiftAt(realNow())
    return utimes(path, new RealDate(Number(accessed) - shift), new RealDate(Number(modified) - shift))
  }

  // The edge does not inherit the service's environment, but must have the same clock.
  const { fork } = child
  child.fork = (path, args, options = {}) =>
    fork(path, args, {
      ...options,
      env: { ...options.env, TORTURE_CLOCK_FILE: file },
      execArgv: [...(options.execArgv ?? []), '--import', import.meta.url],
    })
  syncBuiltinESMExports()
}
