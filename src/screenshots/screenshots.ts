/**
 * Pictures of live sites. One is taken after each switch, one at a time for the whole service, and the newest deployment wins: what
 * is being taken of an earlier one is ended. A site whose picture fails has none of that deployment, and keeps no earlier one.
 *
 *   waiting ──▶ being taken ──▶ stored, or none
 *      ▲             │
 *      └─────────────┘  another deployment went live
 */
import { hash, randomUUID } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Domains, Environment, Environments } from '../apps/index.ts'
import { absent, isId, type Log, printableLine } from '../base/index.ts'
import { Problem } from '../contract/index.ts'
import type { Folders } from '../deployments/index.ts'
import type { Sql } from '../storage/index.ts'
import type { Shoot } from './shoot.ts'

export type Screenshot = { png: Buffer; etag: string; deployment: string }

type Parts = {
  sql: Sql
  log: Log
  environments: Pick<Environments, 'byId'>
  domains: Pick<Domains, 'read'>
  folders: Pick<Folders, 'screenshot' | 'userOf'>
  siteUrl(hostLabel: string): string
  /** Takes a picture; or why this service takes none, for people. */
  shoot: Shoot | { missing: string }
}

/** How soon to ask again for a picture that is being taken. */
const RETRY_AFTER_SECONDS = 2

export function createScreenshots({ sql, log, environments, domains, folders, siteUrl, shoot }: Parts) {
  const waiting = new Set<string>()
  const ending = new AbortController()
  let running: { environmentId: string; end: AbortController } | undefined
  let working: Promise<void> | undefined

  async function work() {
    for (const environmentId of waiting) {
      waiting.delete(environmentId)
      const end = new AbortController()
      running = { environmentId, end }
      await take(environmentId, AbortSignal.any([end.signal, ending.signal])).catch((error) => {
        if (!end.signal.aborted && !ending.signal.aborted)
          log.error({ err: error, environment: environmentId }, 'a picture of a site could not be taken')
      })
      running = undefined
    }
    working = undefined
  }

  async function take(environmentId: string, signal: AbortSignal) {
    const environment = await environments.byId(sql, environmentId)
    if (!environment?.liveDeployment || environment.state === 'DELETING') return
    const shot = await shootIt(environment, signal)
    if ('fault' in shot) {
      log.info({ environment: environmentId }, `there is no picture of a site: ${printableLine(shot.fault)}`)
      return replace(environmentId, undefined)
    }
    await replace(environmentId, { deployment: environment.liveDeployment, png: shot.png })
  }

  async function shootIt(environment: Environment, signal: AbortSignal) {
    const { id, hostLabel, protection } = environment
    if ('missing' in shoot) return { fault: shoot.missing }
    if (hostLabel === null) return { fault: 'it has no address yet' }
    if (protection.passwordHash !== null || protection.addresses.length > 0) return { fault: PROTECTED }
    const url = siteUrl(hostLabel)
    const { names } = await domains.read(id)
    return shoot(
      { url: `${url}/`, hosts: [new URL(url).hostname, ...names], user: folders.userOf(environment) },
      signal,
    )
  }

  /** The file is there whole or not at all. Where the environment was deleted meanwhile, its folder stays gone. */
  async function replace(environmentId: string, next: { deployment: string; png: Buffer } | undefined) {
    const folder = folders.screenshot(environmentId)
    const before = (await readdir(folder).catch(absent)) ?? []
    const name = next && `${next.deployment}.png`
    if (next && name) {
      try {
        await mkdir(folder, { mode: 0o700 }).catch((error) => {
          if (error.code !== 'EEXIST') throw error
        })
        const draft = join(folder, `${randomUUID()}.draft`)
        await writeFile(draft, next.png, { mode: 0o600 })
        await rename(draft, join(folder, name))
      } catch (error) {
        absent(error as NodeJS.ErrnoException)
      }
    }
    for (const old of before) if (old !== name) await rm(join(folder, old), { force: true })
  }

  const isPending = (environmentId: string): boolean =>
    waiting.has(environmentId) || running?.environmentId === environmentId

  return {
    /** Visitors get another deployment. */
    switched(environmentId: string) {
      if ('missing' in shoot || ending.signal.aborted) return
      waiting.add(environmentId)
      if (running?.environmentId === environmentId) running.end.abort()
      working ??= work()
    },

    /** The picture of a site, which may be that of the deployment before while another one is taken. */
    async of({ id, protection }: Pick<Environment, 'id' | 'protection'>): Promise<Screenshot> {
      const folder = folders.screenshot(id)
      const names = (await readdir(folder).catch(absent)) ?? []
      const name = names.find((one) => one.endsWith('.png') && isId(one.slice(0, -4)))
      const png = name === undefined ? undefined : await readFile(join(folder, name)).catch(absent)
      if (name !== undefined && png)
        return { png, etag: `"${hash('sha256', png, 'base64url').slice(0, 22)}"`, deployment: name.slice(0, -4) }
      if (isPending(id)) throw none('A picture of the site is being taken.', RETRY_AFTER_SECONDS)
      if ('missing' in shoot) throw none(`There is no picture of the site: ${shoot.missing}.`)
      const isProtected = protection.passwordHash !== null || protection.addresses.length > 0
      throw none(isProtected ? `There is no picture of the site: ${PROTECTED}.` : NONE)
    },

    /** Another picture is on its way: seconds after which to ask again. */
    retryAfter: (environmentId: string): number | undefined =>
      isPending(environmentId) ? RETRY_AFTER_SECONDS : undefined,

    /** Ends what runs. */
    async stop() {
      ending.abort()
      waiting.clear()
      await working
    },
  }
}

export type Screenshots = ReturnType<typeof createScreenshots>

const PROTECTED = 'it is protected, and the service does not log in'
const NONE = 'There is no picture of the site: none was taken since it was deployed, or it did not load.'

const none = (message: string, retryAfterSeconds?: number): Problem =>
  new Problem('SCREENSHOT_NOT_FOUND', message, retryAfterSeconds === undefined ? {} : { retryAfterSeconds })
