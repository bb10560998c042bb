/** Pictures of live sites, where this machine has a browser and a sandbox for it. */
import type { AddressInfo } from 'node:net'
import { urlOn } from '../../addresses.ts'
import type { Log } from '../../base/index.ts'
import type { DataFiles } from '../../data-files.ts'
import type { Database } from '../../data-folder.ts'
import type { Machine } from '../../machine.ts'
import { createScreenshots, createShoot, findBrowser } from '../../screenshots/index.ts'
import type { Config, Listen } from '../../settings.ts'
import type { Hosting } from '../hosting.ts'
import type { Live } from '../live.ts'
import type { Records } from '../records.ts'

type Parts = {
  config: Config
  files: DataFiles
  log: Log
  database: Database
  machine: Machine
  records: Records
  hosting: Hosting
  live: Live
  /** Where the edges listen. */
  edge: Listen
}

export async function openScreenshots(parts: Parts) {
  const { log, database, records, hosting, live } = parts
  const { sql, environments } = database
  const shoot = await openShoot(parts)
  if (!('missing' in shoot)) log.info('pictures of live sites are taken for the portal')
  return createScreenshots({
    sql,
    log,
    environments,
    domains: records.domains,
    folders: hosting.folders,
    siteUrl: live.siteUrl,
    shoot,
  })
}

async function openShoot({ config, files, machine, edge }: Parts) {
  const { screenshotBrowser, engine, tlsListen } = config
  if (screenshotBrowser === 'off') return { missing: 'the setting screenshotBrowser is off' }
  if (engine === 'swarm') return { missing: 'a cluster takes none' }
  if (!machine.engine.isIsolating) return { missing: 'the service has no sandbox for a browser' }
  const browser = await findBrowser(screenshotBrowser === 'usual' ? undefined : screenshotBrowser.path)
  if (!browser) return { missing: 'the service has no browser' }
  return createShoot({
    engine: machine.engine,
    browser,
    edge: { ...reachable(edge), tls: tlsListen && reachable(tlsListen) },
    folder: files.screenshots,
  })
}

function reachable({ host, port }: Listen): Listen {
  const { hostname } = new URL(urlOn({ address: host, port } as AddressInfo))
  return { host: hostname.replace(/^\[(.*)\]$/, '$1'), port }
}
