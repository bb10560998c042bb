/** The server of the API and the portal. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { urlOn } from '../addresses.ts'
import { createApiServer, gitRemote } from '../api/index.ts'
import { type Log, settlesWithin } from '../base/index.ts'
import { openUnixSocket } from '../channel/index.ts'
import { filesIn } from '../data-files.ts'
import type { Portal } from '../portal/index.ts'
import { assembleRemote, type RemoteSources } from './git.ts'
import { assembleRoutes, type RouteSources } from './routes.ts'

type Parts = RouteSources & Pick<RemoteSources, 'gitWorkers'> & { log: Log; portal: Portal }

export function assembleApi(parts: Parts) {
  const { config, log, metrics, portal } = parts
  const { clock, newId } = parts.database
  const { trustedProxies } = config
  let url = ''
  const publicUrl = () => config.publicUrl ?? url
  const leaving = new AbortController()
  const stopping = leaving.signal
  let forEdges: Server | undefined
  const { auth, routes } = assembleRoutes(parts, { publicUrl, stopping })
  const remote = gitRemote(assembleRemote(parts, { publicUrl, stopping }), auth)
  const api = createApiServer({ routes, remote, auth, log, newId, metrics, trustedProxies, portal, stopping })

  return {
    publicUrl,

    /** For edges that serve the portal. Called again, it takes the path again, after another process had taken it. */
    async listenToEdges(): Promise<void> {
      if (!config.tlsListen) return
      const before = forEdges
      forEdges = await openUnixSocket(filesIn(config.dataDir).apiSocket, (socket) =>
        api.server.emit('connection', socket),
      )
      before?.close()
    },

    /** On a socket that another process has opened. Resolves with the address at which this machine reaches it. */
    async listen(fd: number): Promise<string> {
      await api.ready()
      api.server.listen({ fd })
      await once(api.server, 'listening')
      url = urlOn(api.server.address() as AddressInfo)
      log.info(`API and portal listen at ${url}`)
      return url
    },

    /** Requests that are being answered may take until `graceMs` is over. */
    async stop(graceMs: number) {
      leaving.abort()
      forEdges?.close()
      await settlesWithin(clock, api.close(), graceMs)
      api.server.closeAllConnections()
    },
  }
}
