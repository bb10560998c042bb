/**
 * Log-ins that are remembered, one for each service, in a file that only its owner can read. A log-in is sent to the
 * address that it was made for and to no other.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Authorization } from './service.ts'

type Saved = {
  /** The service of the last log-in: spoken to where nothing else says which. */
  last?: string
  logins: Record<string, Authorization>
}

export const loginsFile = (configFolder: string): string => join(configFolder, 'headland', 'logins.json')

export function createSavedLogins(configFolder: string) {
  const file = loginsFile(configFolder)

  async function read(): Promise<Saved> {
    let text: string
    try {
      text = await readFile(file, 'utf8')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { logins: {} }
      throw error
    }
    const saved = parse(text)
    if (typeof saved?.logins !== 'object' || saved.logins === null) {
      throw new Error(`${file} cannot be read. Remove it, and log in again.`)
    }
    return saved
  }

  async function write(saved: Saved) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    // Whole or not at all, and at no moment for others to read.
    const fresh = `${file}.${randomUUID()}`
    await writeFile(fresh, `${JSON.stringify(saved, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
    await rename(fresh, file)
  }

  return {
    file,
    last: async (): Promise<string | undefined> => (await read()).last,
    of: async (url: string): Promise<Authorization | undefined> => (await read()).logins[url],
    async save(url: string, login: Authorization) {
      const { logins } = await read()
      await write({ last: url, logins: { ...logins, [url]: login } })
    },
    async forget(url: string) {
      const { last, logins } = await read()
      const rest = Object.fromEntries(Object.entries(logins).filter(([known]) => known !== url))
      const next = last === url ? Object.keys(rest)[0] : last
      await write({ ...(next ? { last: next } : {}), logins: rest })
    },
  }
}

function parse(text: string): Saved | undefined {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a session has ended by itself. */
export const isExpired = (login: Authorization): boolean =>
  'cookie' in login && login.expireTime !== undefined && Date.parse(login.expireTime) < Date.now()
