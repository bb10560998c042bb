/** The target of each host name. */

/** What the control process says of the hosts of one environment; without hosts, the edge does not answer for it. */
export type EnvironmentRoutes = {
  environment: string
  hosts: Readonly<Record<string, RouteTarget>>
  /** Absent where everybody may see the environment, and search engines may list it. */
  access?: Access
}

/** Who may see an environment, and find it. */
export type Access = {
  /** Its answers tell search engines not to list them. */
  isHidden?: boolean
  /** Its answers are for visitors who pass these checks. */
  protection?: Protection
}

/** At least one of the two; a visitor has to pass both. */
export type Protection = {
  /** The hash that a password is compared with, and the key that signs the cookies of those who knew it. */
  password?: { hash: string; cookieKey: string }
  /** Addresses and ranges of addresses. */
  addresses?: readonly string[]
}

/**
 * Every target has an environment: several hosts may belong to one. `earlierFiles` is the absolute path of the index of
 * files that earlier deployments left (static/earlier); absent where there are none.
 */
type OfEnvironment = { environment: string; earlierFiles?: string }

/** Pages that name the content they are made of are kept for so many seconds; absent where only what the app allows is kept. */
export type Learned = { maxAgeSeconds: number }

/** What answers a request. */
export type RouteTarget = OfEnvironment &
  (
    | NeedsNoInstance
    /** Where its instance is comes in an `InstanceReport`. */
    | { kind: 'server'; deployment: string; learned?: Learned }
  )

/** An output that edges of other machines get from the registry: its digest, and the reference of its image. */
export type StoredOutput = { digest: string; image: string }

/**
 * The outputs of earlier deployments, the newest first, of which edges of other machines serve the files that pages may still load.
 * The digest is that of the index which is made of them, and of the live output.
 */
export type EarlierOutputs = { digest: string; outputs: readonly StoredOutput[] }

type NeedsNoInstance =
  /** The environment exists, and nothing is deployed to it yet. */
  | { kind: 'empty' }
  /**
   * An absolute folder with the files, and the absolute path of their manifest. Both are of the machine of the control process;
   * `output` and `earlier` are for edges of other machines.
   */
  | {
      kind: 'static'
      deployment: string
      folder: string
      manifest: string
      output?: StoredOutput
      earlier?: EarlierOutputs
    }
  /** Another host name of the same environment. */
  | { kind: 'redirect'; to: string }

/** Where the files of an output are on the machine of the edge. */
export type FilesReport = { state: 'here'; folder: string; manifest: string } | { state: 'failed' }

export type InstanceReport =
  /** At least one. */
  | { state: 'running'; instances: readonly InstanceAddress[] }
  /** No process is running: the edge asks for one, and the request waits. */
  | { state: 'asleep' }
  /** It keeps crashing. */
  | { state: 'down' }

export type InstanceAddress = {
  instance: string
  host: string
  port: number
  /** It has a cache of its own, and no file by which it learns what was revalidated: its requests have the newest purge's number. */
  isToldPurges?: boolean
}

/** A target, and for a server its instance. */
export type Target = OfEnvironment & { access?: Access } & (
    | NeedsNoInstance
    | ({
        kind: 'server'
        deployment: string
        learned?: Learned
        /** All instances, this one among them, where there are several. */
        peers?: readonly ServerTarget[]
      } & InstanceAddress)
    | { kind: 'asleep'; deployment: string; learned?: Learned }
    | { kind: 'down'; deployment: string; learned?: Learned }
  )

export type StaticTarget = Extract<Target, { kind: 'static' }>
export type ServerTarget = Extract<Target, { kind: 'server' }>

/**
 * `awaited`: the host belongs to a server whose instance was not reported yet; requests that need it wait for that.
 * `unfetched`: its files are not on this machine yet; requests wait for them. `unavailable`: they could not be got just now.
 */
export type Routed =
  | Target
  | (OfEnvironment & { access?: Access; deployment: string } & (
        | { kind: 'awaited'; learned?: Learned }
        | { kind: 'unavailable' }
        | { kind: 'unfetched'; output: StoredOutput }
      ))

export type Routes = ReadonlyMap<string, Routed>

/** The host name of a Host header: without its port, in lower case, without the dot of a fully qualified name. */
export function toHost(hostHeader: string): string {
  // Digit by digit, since this is done for every request: an expression takes several times as long.
  let at = hostHeader.length
  while (at > 0 && isDigit(hostHeader.charCodeAt(at - 1))) at--
  const name = hostHeader.charCodeAt(at - 1) === COLON ? hostHeader.slice(0, at - 1) : hostHeader
  const host = name.toLowerCase()
  return host.endsWith('.') ? host.slice(0, -1) : host
}

const COLON = 0x3a

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
