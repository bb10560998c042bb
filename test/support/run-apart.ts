/** Commands that run beside this process, at a lower priority if wanted, with what they print kept for later. */
import { spawn } from 'node:child_process'
import { setPriority } from 'node:os'
import { text } from 'node:stream/consumers'

export type Outcome = {
  isGood: boolean
  /** It was ended, since it took too long. */
  isLate: boolean
  printed: string
}

type Options = {
  cwd: string
  /** As of `nice`: above 0, others come first. */
  priority?: number
  /** What it prints on stdout is shown as it comes, and is not part of the outcome. */
  isShown?: boolean
  /** It is ended after that. */
  maxMs?: number
}

/** The command ends with this process, and so does what it has started. */
export async function runApart([file, ...args]: readonly [string, ...string[]], options: Options): Promise<Outcome> {
  const { cwd, priority = 0, isShown = false, maxMs } = options
  // A process group of its own can be ended as a whole.
  const child = spawn(file, args, { cwd, stdio: ['ignore', isShown ? 'inherit' : 'pipe', 'inherit'], detached: true })
  const closed = new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve))
  const { pid } = child
  if (pid === undefined) return closed.then(() => ({ isGood: false, isLate: false, printed: '' }))
  const end = () => endGroup(pid)
  process.once('exit', end)
  setPriority(pid, priority)
  let isLate = false
  const late =
    maxMs === undefined
      ? undefined
      : setTimeout(() => {
          isLate = true
          end()
        }, maxMs)
  const [printed, code] = await Promise.all([child.stdout ? text(child.stdout) : '', closed])
  clearTimeout(late)
  process.off('exit', end)
  return { isGood: code === 0 && !isLate, isLate, printed }
}

function endGroup(pid: number) {
  try {
    process.kill(-pid)
  } catch (error) {
    // All of them have ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}
