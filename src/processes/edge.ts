/** The process of an edge. */

import { tlsPortOf } from '../addresses.ts'
import { isProcessGone, processName } from '../base/index.ts'
import type { PeerAddress } from '../channel/index.ts'
import { filesIn } from '../data-files.ts'
import { type EdgeSettings, type JobSocket, type JobSocketSource, runEdge } from '../edge/index.ts'
import type { Config } from '../settings.ts'
import { version } from '../version.ts'
import { type ChildLife, createChildLife, FIRST_SOCKET } from './child.ts'

/** Which of the edges of this machine it is. They share the memory and the disk for what is stored. */
export type EdgeBegin = {
  index: number
  count: number
  /** At which TLS is served, if it is. */
  tlsPort: number | undefined
  /** Control processes of other machines, if it follows those. The token is given here, as no secret is in its environment. */
  controls?: readonly PeerAddress[] | undefined
}

const TLS_SOCKET = FIRST_SOCKET + 1

export async function runEdgeProcess(config: Config) {
  const { dataDir, trustedProxies, rewriteHosts, jobNetwork, countPaths, requestLog, cacheMemory, cacheDisk } = config
  const life = createChildLife<EdgeBegin, null>()
  const ready = Promise.withResolvers<void>()
  const jobSockets = receiveJobSockets(life, ready.promise)
  const { index, count, tlsPort, controls } = await life.begin
  const files = filesIn(dataDir)
  const own = (path: string) => (index === 0 ? path : `${path}.${index}`)
  const edge = await runEdge({
    name: processName(),
    version,
    listen: { fd: FIRST_SOCKET },
    tls: tlsPort === undefined ? undefined : tlsOf(config, tlsPort),
    routesFile: own(files.routes),
    certificatesFile: own(files.certificates),
    trustedProxies,
    rewriteHosts,
    jobNetwork,
    countsPaths: countPaths,
    recordsRequests: requestLog,
    cache: { memoryBytes: cacheMemory / count, folder: own(files.cache), diskBytes: cacheDisk / count },
    controls: controls ?? [files.controlSocket],
    instances:
      controls && config.engine === 'swarm'
        ? { addresses: controls, isElsewhere: true }
        : { addresses: [files.agentSocket], isElsewhere: false },
    filesSocket: controls && config.registry !== undefined ? files.filesSocket : undefined,
    jobSockets,
    isGone: isProcessGone,
  })
  life.ready(null)
  ready.resolve()
  await edge.stop(await life.stopRequested)
  life.leave()
}

/** The portal has the host name of the service. */
function tlsOf(config: Config, port: number): EdgeSettings['tls'] {
  const { dataDir, publicUrl, edgeUrl, hsts } = config
  return {
    listen: { fd: TLS_SOCKET },
    publicPort: edgeUrl === undefined ? port : tlsPortOf(config),
    hstsSeconds: hsts,
    portal:
      publicUrl === undefined
        ? undefined
        : { host: new URL(publicUrl).hostname, socketPath: filesIn(dataDir).apiSocket },
  }
}

/** They may come before the edge is there. They are asked for when it is ready: a parent of an earlier version ignores it then. */
function receiveJobSockets(
  { onJobSocket, wantJobSocket }: ChildLife<EdgeBegin, null>,
  ready: Promise<void>,
): JobSocketSource {
  const received: JobSocket[] = []
  onJobSocket((socket) => received.push(socket))
  return {
    want: (gateway) => void ready.then(() => wantJobSocket(gateway)),
    onSocket(listener) {
      for (const socket of received) listener(socket)
      onJobSocket(listener)
    },
  }
}
