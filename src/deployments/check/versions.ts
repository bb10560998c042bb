/** How a version is asked: the files of a static site, or a server that runs. Nothing is woken or started for it. */
import type { Environment } from '../../apps/index.ts'
import type { Clock } from '../../base/index.ts'
import type { Build, Outputs } from '../../builds/index.ts'
import type { Instances } from '../../runtime/index.ts'
import type { SiteUrl } from '../describe.ts'
import type { Ask } from './answer.ts'
import { askApp } from './ask-app.ts'
import { askFiles } from './ask-files.ts'

export type VersionParts = {
  clock: Pick<Clock, 'now' | 'sleep'>
  outputs: Pick<Outputs, 'edgeFolderOf' | 'filesOf' | 'has'>
  instances: Pick<Instances, 'of'>
  domains: { of(ids: readonly string[]): Promise<Map<string, string[]>> }
  siteUrl: SiteUrl
}

/** Where visitors find the environment, and all host names that are its own. */
export type Site = { url: URL; hosts: ReadonlySet<string> }

/** The state of an app that has just begun to answer is reported a moment later. */
const REPORTED_WITHIN_MS = 5000
const LOOK_MS = 20

export function createVersions({ clock, outputs, instances, domains, siteUrl }: VersionParts) {
  return {
    /** Undefined while the environment has no address. */
    async siteOf({ id, hostLabel }: Pick<Environment, 'id' | 'hostLabel'>): Promise<Site | undefined> {
      if (hostLabel === null) return undefined
      const url = new URL(siteUrl(hostLabel))
      const custom = (await domains.of([id])).get(id) ?? []
      return { url, hosts: new Set([url.host, url.hostname, ...custom]) }
    },

    /** Undefined for a server that sleeps or crashes, and for files that are not on this machine. */
    async asker(deployment: string, { output, plan }: Build, { url, hosts }: Site): Promise<Ask | undefined> {
      if (output && plan?.output.kind === 'static')
        return (await outputs.has(output)) ? askFiles({ outputs, output, hosts }) : undefined
      const running = instances.of(deployment)
      if (running?.state !== 'RUNNING' || !running.instance) return undefined
      return askApp({ ...running.instance, siteUrl: url, hosts })
    },

    /** Resolves when the state of an app that was started is known here. */
    async untilReported(deployment: string, { plan }: Build, signal: AbortSignal): Promise<void> {
      const until = clock.now() + REPORTED_WITHIN_MS
      const isOver = () => instances.of(deployment)?.instance !== undefined || clock.now() >= until
      while (plan?.output.kind === 'server' && !isOver()) await clock.sleep(LOOK_MS, signal)
    },
  }
}

export type Versions = ReturnType<typeof createVersions>
