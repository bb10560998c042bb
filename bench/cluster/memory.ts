/** Memory of the processes of both sides, by what they are, in MB. */
import { commandOf, memoryOf, treePids } from '../cpu.ts'
import type { Cluster, Side } from './sides.ts'

export type Memory = {
  /** Processes of the service, all of them. */
  service: number
  leader: number
  /** All three. */
  edges: number
  postgres: number
  /** Engines and containerd. */
  docker: number
  shims: number
  proxies: number
}

type Process = { command: string; pss: number; anonymous: number }

/** Private memory of Node, as its program is shared with other processes of this machine; of the others, their share. */
const anonymousOf = (root: number) => processesOf(root).reduce((sum, { anonymous }) => sum + anonymous, 0)
const shareOf = (processes: readonly Process[]) => processes.reduce((sum, { pss }) => sum + pss, 0)

export function clusterMemory({ whole, controls, edges }: Cluster): Memory {
  const engines = whole.swarm.nodes.flatMap(({ pid }) => processesOf(pid))
  const named = (name: RegExp) => shareOf(engines.filter(({ command }) => name.test(command)))
  const pids = [...controls, whole.worker, ...edges].map(({ pid }) => pid)
  return {
    service: [...pids, ...whole.nodeRoles.map((role) => role.pid())].reduce((sum, pid) => sum + anonymousOf(pid), 0),
    leader: anonymousOf(controls[0].pid),
    edges: edges.reduce((sum, { pid }) => sum + anonymousOf(pid), 0),
    postgres: shareOf(processesOf(whole.shared.server.pid())),
    docker: named(/^\S*(dockerd|containerd) /),
    shims: named(/^\S*containerd-shim/),
    proxies: named(/^\S*docker-proxy/),
  }
}

const isService = ({ command }: Process): boolean => /bin\/headland/.test(command)

/** Processes of the service, and sandboxes around apps. */
export function machineMemory({ roots }: Side): { service: number; sandboxes: number } {
  const all = roots().flatMap(processesOf)
  return {
    service: all.filter(isService).reduce((sum, { anonymous }) => sum + anonymous, 0),
    sandboxes: shareOf(all.filter(({ command }) => /^\S*bwrap /.test(command))),
  }
}

function processesOf(root: number): Process[] {
  return treePids(root).flatMap((pid) => {
    try {
      const { pss, rssAnon } = memoryOf(pid)
      // A process that has ended and was not waited for has no memory.
      return Number.isNaN(pss) ? [] : [{ command: commandOf(pid), pss, anonymous: rssAnon }]
    } catch (error) {
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return []
      throw error
    }
  })
}
