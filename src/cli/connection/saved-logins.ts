/**
 * Saved log-ins, one for each service, in a file that only its owner can read. A log-in is only ever sent to the address that
 * it was made for. The file also lists the accounts that the user has confirmed.
 */
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UsageError } from '../../contract/index.ts'
import { readSmallFile, replaceFile } from '../project/small-files.ts'
import type { Authorization } from './service.ts'

type Saved = {
  /** The service of the last log-in: the default where nothing else names one. */
  last?: string
  logins: Record<string, Authorization>
  /** By service: accounts that the user, and not a project file, has chosen or confirmed. */
  accounts?: Record<string, string[]>
}

/** Enough for hundreds of log-ins. */
const MAX_BYTES = 1024 * 1024

export const loginsFile = (configFolder: string): string => join(configFolder, 'headland', 'logins.json')

export function createSavedLogins(configFolder: string) {
  const file = loginsFile(configFolder)

  async function read(): Promise<Saved> {
    const found = await readSmallFile(file, { maxBytes: MAX_BYTES, followsLinks: true })
    if (!found) return { logins: {} }
    const saved = parse(found.content.toString('utf8'))
    if (typeof saved?.logins !== 'object' || saved.logins === null) {
      throw new Error(`${file} cannot be read. Remove it, and log in again.`)
    }
    return saved
  }

  async function write(saved: Saved) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 })
    await replaceFile(file, `${JSON.stringify(saved, null, 2)}\n`, 0o600)
  }

  return {
    file,
    last: async (): Promise<string | undefined> => (await read()).last,
    of: async (url: string): Promise<Authorization | undefined> => (await read()).logins[url],
    async save(url: string, login: Authorization) {
      const saved = await read()
      await write({ ...saved, last: url, logins: { ...saved.logins, [url]: login } })
    },
    async forget(url: string) {
      const { last, logins, accounts = {} } = await read()
      const rest = without(logins, url)
      const next = last === url ? Object.keys(rest)[0] : last
      await write({ ...(next ? { last: next } : {}), logins: rest, accounts: without(accounts, url) })
    },
    isConfirmed: async (url: string, account: string): Promise<boolean> =>
      (await read()).accounts?.[url]?.includes(account) === true,
    async confirm(url: string, account: string) {
      const saved = await read()
      const known = saved.accounts?.[url] ?? []
      if (known.includes(account)) return
      await write({ ...saved, accounts: { ...saved.accounts, [url]: [...known, account] } })
    },
  }
}

const without = <T>(all: Record<string, T>, gone: string): Record<string, T> =>
  Object.fromEntries(Object.entries(all).filter(([key]) => key !== gone))

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

/** The address of a service, in the one form under which log-ins are saved. */
export function serviceUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || url.search || url.hash) {
    throw new UsageError(`'${text}' is not the address of a service, as in https://headland.example.com`)
  }
  return (url.origin + url.pathname).replace(/\/+$/, '')
}
