/** The log of an app under the agent: its own file, and beside it, or instead of it, where others want the output. */
import type { AppOutput } from '../runtime/index.ts'
import type { LineLog } from '../storage/index.ts'

/** Until its start is over, the output of an app also goes to the control process that has asked for it. */
export const withOutput = (own: LineLog, onOutput: AppOutput): LineLog => ({
  ...own,
  write(stream, phase, chunk) {
    const waits = [own.write(stream, phase, chunk), onOutput(stream, chunk)].filter((wait) => wait !== undefined)
    return waits.length > 0 ? Promise.all(waits).then(() => undefined) : undefined
  },
})

export type ForwardedLog = LineLog & {
  /** The file is closed, and everything more that the program writes goes there: only one process may write to a file. */
  forward(to: AppOutput): Promise<void>
}

export function createForwardedLog(own: LineLog): ForwardedLog {
  let write: LineLog['write'] = own.write
  let isForwarded = false
  return {
    ...own,
    write: (...args) => write(...args),
    say(phase, text) {
      if (!isForwarded) own.say(phase, text)
    },
    rest() {
      if (!isForwarded) own.rest()
    },
    async close() {
      if (!isForwarded) await own.close()
    },
    async forward(to) {
      // What is written meanwhile waits until the file is closed.
      const closed = own.close()
      isForwarded = true
      write = async (stream, _, chunk) => {
        await closed
        await to(stream, chunk)
      }
      await closed
    },
  }
}
