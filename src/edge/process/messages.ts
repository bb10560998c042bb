/**
 * The messages of an edge. It follows two processes, and goes on without either of them: the control process knows which
 * deployment a host leads to and what was purged, the agent knows where the instances of deployments are. On a machine without
 * a control process, a third one brings the files of static sites.
 */
import type { Stall } from '../../watchdog/index.ts'
import type { Inspection, Purge } from '../cache/index.ts'
import type { Counts } from '../counts.ts'
import type { RequestRecords } from '../request-log/record.ts'
import type { EarlierOutputs, EnvironmentRoutes, InstanceReport, StoredOutput } from '../routes.ts'
import type { EdgeCertificate, EdgeChallenges } from '../tls/types.ts'

/** `isWhole`: there are no other certificates. */
export type CertificatesMessage = {
  set: readonly EdgeCertificate[]
  removed: readonly string[]
  isWhole: boolean
  /** Of session tickets, in base64. */
  ticketSecret: string
}

export type NumberedPurge = { number: number; purge: Purge }

/** What the control process asks of an edge. */
export type EdgeMethodsForControl = {
  /** The routes that this process uses; null before the first. */
  revision(argument: null): number | null
  /** Resolves when they are in use and saved. `isWhole`: there are no other environments. */
  setRoutes(argument: { routes: EnvironmentRoutes[]; isWhole: boolean; revision: number }): Promise<void>
  /** Resolves when no later request is answered with what is purged. */
  purge(purge: NumberedPurge): void
  /** Resolves when they are used for new connections. */
  setCertificates(message: CertificatesMessage): void
  /** Resolves when they are answered. */
  setChallenges(challenges: EdgeChallenges): void
  /** What is stored for a URL of the environment. */
  inspect(argument: { environment: string; url: string }): Promise<Inspection>
  /** Whether a process of its machine is gone, by its name; true only when it is certain. */
  isGone(process: string): boolean
}

/** The purges after a number; or everything is to be purged, as they are not known any more. */
export type MissedPurges = { purges: readonly NumberedPurge[] } | { everythingUntil: number }

/** What an edge asks of the control process. */
export type ControlMethodsForEdge = {
  /**
   * Renews the lease (`lease.ts`), and returns the purges after the one that the edge has applied last, and how long the lease
   * lasts: LEASE_MS if it does not say.
   */
  renew(applied: number): Promise<MissedPurges & { leaseMs?: number }>
  /** The traffic since the last report, by environment. */
  traffic(environments: Record<string, Counts>): void
  /** Requests since the last report, by environment. Resolves when they are taken over. */
  requests(records: RequestRecords): void
  /** It answers no visitor any more, and ends: nothing waits for the end of its lease. */
  leave(argument: null): void
  /** The event loop of the edge was blocked. */
  stalled(stall: Stall): void
  /** A fault that the operator should know about; the edge goes on. */
  trouble(message: string): void
}

/** The index of the files that pages of earlier deployments may still load, which the live one has not. */
export type EarlierIndexWanted = EarlierOutputs & { live: StoredOutput; mayFetch: boolean }

/** What an edge asks of the files process of its machine. */
export type FilesMethodsForEdge = {
  /** Resolves when the files of an output are on the disk: where, and where their manifest is. They stay while they are in use. */
  ensure(output: StoredOutput): Promise<{ folder: string; manifest: string }>
  /**
   * Resolves to the path of the index of earlier files; empty where no file is left. It stays while it is in use. Null where
   * outputs that it is made of are not on the disk, and must not be fetched.
   */
  ensureEarlier(wanted: EarlierIndexWanted): Promise<string | null>
  /** The outputs and indexes that this edge uses, by digest. Resolves to those that are not on the disk. */
  using(digests: readonly string[]): Promise<string[]>
  /** This edge does not use these outputs any more. */
  release(digests: readonly string[]): void
}

/** What the agent asks of an edge. */
export type EdgeMethodsForAgent = {
  /** Where instances are: of all deployments first (`isWhole`), and then of those that change. Null: it has ended. */
  setInstances(argument: { reports: Record<string, InstanceReport | null>; isWhole: boolean }): void
  /** Resolves when no request of this instance is in flight; after the time, the remaining ones are aborted. */
  drain(argument: { instance: string; graceMs: number }): Promise<void>
  /** Builds and apps have their networks behind this gateway, where the edge is to listen to them. */
  useGateway(gateway: string): void
  /** Whether a host is one of a site. */
  isSite(host: string): boolean
}

/** What an edge asks of the agent. */
export type AgentMethodsForEdge = {
  /** Asked again and again where instances are elsewhere: without an answer, the edge stops using their addresses (`lease.ts`). */
  isThere(argument: null): boolean
  /** A visitor waits for this deployment, which sleeps. */
  wake(deployment: string): void
  /** Requests since the last report, by deployment; one that is still going on counts in each report. */
  activity(deployments: Record<string, number>): void
  /** Requests in flight, by deployment. */
  load(deployments: Record<string, number>): void
  /** The edge listens to builds and apps there. Nothing is done for the gateway of another agent. */
  listensToJobs(argument: { gateway: string; port: number }): Promise<void>
  /** A request of an app to this deployment was refused, since it would never have ended. */
  loopDetected(deployment: string): Promise<void>
}
