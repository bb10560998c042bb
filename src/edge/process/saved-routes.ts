/**
 * The routes that the edge knew last, for the time after its start until the control process has sent them. A log of
 * changes, one line each, so that a change costs the same however many environments there are. It is written anew when most
 * of its lines are outdated.
 */
import { appendFile, readFile, rename, writeFile } from 'node:fs/promises'
import type { EnvironmentRoutes } from '../routes.ts'

/** Lines that may be outdated before the file is written anew, beside as many as there are environments. */
const SPARE_LINES = 1000

/** Everything that is known, with the change that is saved. */
type Known = { count(): number; all(): readonly EnvironmentRoutes[] }

export function createSavedRoutes(file: string) {
  let lines = 0
  let isClosed = false
  /** The last save failed: a change is missing in the file, or its last line is cut off. */
  let isBehind = false
  /** Saves run one after the other. */
  let last: Promise<void> = Promise.resolve()

  async function append(routes: readonly EnvironmentRoutes[], { count, all }: Known) {
    if (isBehind || lines + routes.length > 2 * count() + SPARE_LINES) return replace(all())
    await appendFile(file, toText(routes), { mode: 0o600 })
    lines += routes.length
  }

  async function replace(routes: readonly EnvironmentRoutes[]) {
    const draft = `${file}.${process.pid}.new`
    await writeFile(draft, toText(routes), { mode: 0o600 })
    await rename(draft, file)
    lines = routes.length
  }

  const inTurn = (save: () => Promise<void>): Promise<void> => {
    if (isClosed) return last
    last = last
      .catch(() => undefined)
      .then(save)
      .then(
        () => {
          isBehind = false
        },
        (error) => {
          isBehind = true
          throw error
        },
      )
    return last
  }

  return {
    /** What was saved, the newest of each environment; empty where nothing was. */
    async load(): Promise<EnvironmentRoutes[]> {
      const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error
        return ''
      })
      const found = new Map<string, EnvironmentRoutes>()
      for (const line of text.split('\n')) {
        const routes = readLine(line)
        lines++
        if (!routes) continue
        if (Object.keys(routes.hosts).length > 0) found.set(routes.environment, routes)
        else found.delete(routes.environment)
      }
      return [...found.values()]
    },

    change: (routes: readonly EnvironmentRoutes[], known: Known): Promise<void> => inTurn(() => append(routes, known)),
    replace: (routes: readonly EnvironmentRoutes[]): Promise<void> => inTurn(() => replace(routes)),
    /** Another process saves them from now on. */
    close() {
      isClosed = true
    },
  }
}

export type SavedRoutes = ReturnType<typeof createSavedRoutes>

const toText = (routes: readonly EnvironmentRoutes[]): string =>
  routes.map((one) => `${JSON.stringify(one)}\n`).join('')

/** Undefined for a line that was cut off when the machine or the process died. */
function readLine(line: string): EnvironmentRoutes | undefined {
  if (!line.endsWith('}')) return undefined
  try {
    return JSON.parse(line)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
