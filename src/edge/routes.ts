/** The target of each host name. */

/** What the control process says of the hosts of one environment; without hosts, the edge does not answer for it. */
export type EnvironmentRoutes = { environment: string; hosts: Readonly<Record<string, RouteTarget>> }

/**
 * Every target has an environment: several hosts may belong to one. `earlierFiles` is the absolute path of the index of
 * files that earlier deployments left (static/earlier); absent where there are none.
 */
type OfEnvironment = { environment: string; earlierFiles?: string }

/** What answers a request. */
export type RouteTarget = OfEnvironment &
  (
    | NeedsNoInstance
    /** Where its instance is comes in an `InstanceReport`. */
    | { kind: 'server'; deployment: string }
  )

type NeedsNoInstance =
  /** The environment exists, and nothing is deployed to it yet. */
  | { kind: 'empty' }
  /** An absolute folder with the files, and the absolute path of their manifest. */
  | { kind: 'static'; deployment: string; folder: string; manifest: string }
  /** Another host name of the same environment. */
  | { kind: 'redirect'; to: string }

export type InstanceReport =
  /** At least one. */
  | { state: 'running'; instances: readonly InstanceAddress[] }
  /** No process is running: the edge asks for one, and the request waits. */
  | { state: 'asleep' }
  /** It keeps crashing. */
  | { state: 'down' }

export type InstanceAddress = { instance: string; host: string; port: number }

/** A target, and for a server its instance. */
export type Target = OfEnvironment &
  (
    | NeedsNoInstance
    | ({
        kind: 'server'
        deployment: string
        /** All instances, this one among them, where there are several. */
        peers?: readonly ServerTarget[]
      } & InstanceAddress)
    | { kind: 'asleep'; deployment: string }
    | { kind: 'down'; deployment: string }
  )

export type StaticTarget = Extract<Target, { kind: 'static' }>
export type ServerTarget = Extract<Target, { kind: 'server' }>

/** `awaited`: the host belongs to a server whose instance was not reported yet; requests that need it wait for that. */
export type Routed = Target | (OfEnvironment & { kind: 'awaited'; deployment: string })

export type Routes = ReadonlyMap<string, Routed>

/** The host name of a Host header: without its port, in lower case, without the dot of a fully qualified name. */
export function toHost(hostHeader: string): string {
  const host = hostHeader.replace(/:\d*$/, '').toLowerCase()
  return host.endsWith('.') ? host.slice(0, -1) : host
}
