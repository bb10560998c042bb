/**
 * What every actor will do, in which order and with which data: derived from the seed alone, never from results. An act
 * is for a slot, not for an environment: if the slot is empty, it is filled first.
 */
import { createRandom, type Random } from './random.ts'

export const SLOTS = 3

export const PATHS = ['/', '/a', '/slow'] as const
export type Path = (typeof PATHS)[number]
/** Sites without a server have only the first path. */
const VISITED: Record<Path, number> = { '/': 5, '/a': 2, '/slow': 1 }

/** The content of an archive; see archives.ts. */
export const ARCHIVES = { plain: 6, built: 10, server: 20, fromCms: 6, withPackage: 3, broken: 3 } as const
export type ArchiveKind = keyof typeof ARCHIVES

const OWNER = {
  upload: 40,
  rebuild: 8,
  cleanRebuild: 3,
  purge: 8,
  purgePath: 8,
  purgeTag: 8,
  variables: 7,
  activate: 8,
  cancel: 6,
  regenerate: 1,
  deleteEnvironment: 1,
  deleteApp: 0.5,
} as const
export type OwnerKind = keyof typeof OWNER

const EDITOR = { rebuild: 10, cleanRebuild: 3, purgeCache: 10 } as const

const RUDE = {
  halfUpload: 4,
  slowUpload: 2,
  cutReply: 4,
  garbageToApi: 3,
  garbageToEdge: 3,
  slowHeaders: 2,
  cutVisit: 4,
} as const
export type RudeKind = keyof typeof RUDE

/** Faults of the servers that builds call. */
const WORLD = { cmsHangs: 2, cmsFails: 2, cmsRefuses: 2, registryHangs: 2, registryFails: 2 } as const
export type WorldFault = keyof typeof WORLD

const MACHINE = {
  killService: 4,
  killControl: 8,
  killEdge: 6,
  killAgent: 4,
  reload: 5,
  killBuild: 5,
  killApp: 6,
  stopControl: 4,
  stopEdge: 4,
  stopAgent: 2,
  stopApp: 3,
  fillDisk: 5,
  clockForward: 5,
  clockBack: 5,
  ...WORLD,
} as const
export type MachineFault = keyof typeof MACHINE

const CLUSTER = {
  killLeader: 7,
  killOther: 4,
  loseControl: 4,
  stopControl: 4,
  killWorker: 4,
  loseWorker: 5,
  killAgent: 2,
  killBuild: 4,
  killEdge: 5,
  loseEdge: 4,
  stopEdge: 4,
  cutEdge: 5,
  killFiles: 4,
  killApp: 5,
  killNodeRole: 3,
  cutNode: 5,
  restartEngine: 3,
  restartDatabase: 6,
  stopImages: 5,
  stopStore: 5,
  reload: 6,
  quiet: 6,
  ...WORLD,
} as const
export type ClusterFault = keyof typeof CLUSTER

export type FaultPlan = {
  /** How often each kind of fault occurs. */
  weights: Readonly<Record<string, number>>
  /** How often another one comes while the fault lasts. */
  meanwhile: Readonly<Record<string, number>>
  maxMs: number
  pauseMs: number
}

export const ON_ONE_MACHINE: FaultPlan = {
  weights: MACHINE,
  meanwhile: { nothing: 8, killControl: 1, killEdge: 1 },
  maxMs: 4000,
  pauseMs: 5000,
}

export const IN_A_CLUSTER: FaultPlan = {
  weights: CLUSTER,
  meanwhile: { nothing: 7, killLeader: 1, killEdge: 1, loseWorker: 1 },
  maxMs: 14_000,
  pauseMs: 6000,
}

export type Paced = { pauseMs: number }
export type OwnerAct = Paced & {
  kind: OwnerKind
  slot: number
  archive: ArchiveKind
  path: Path
  /** Which one, if the act is about one of several. */
  which: number
}
export type EditorAct = Paced & { kind: keyof typeof EDITOR; slot: number; calls: number }
export type VisitAct = Paced & { account: number; slot: number; path: Path }
export type RudeAct = Paced & { kind: RudeKind; account: number; slot: number; part: number }
export type FaultAct = Paced & {
  kind: string
  forMs: number
  hours: number
  which: number
  /** What is killed while the fault lasts, or `nothing`. */
  meanwhile: string
}

/** An owner of several environments, who never waits for an operation to be done. */
export function planOwner(seed: number, account: number): () => OwnerAct {
  const random = createRandom(seed, `owner ${account}`)
  return () => ({
    kind: random.weighted(OWNER),
    slot: random.below(SLOTS),
    archive: random.weighted(ARCHIVES),
    path: random.pick(PATHS),
    which: random.below(1000),
    pauseMs: pause(random, 700),
  })
}

/** A CMS that calls webhooks, now and then several at once. */
export function planEditor(seed: number, account: number): () => EditorAct {
  const random = createRandom(seed, `editor ${account}`)
  return () => ({
    kind: random.weighted(EDITOR),
    slot: random.below(SLOTS),
    calls: random.next() < 0.2 ? random.between(3, 12) : 1,
    pauseMs: pause(random, 1500),
  })
}

export function planVisitor(seed: number, number: number, accounts: number): () => VisitAct {
  const random = createRandom(seed, `visitor ${number}`)
  return () => ({
    account: random.below(accounts),
    slot: random.below(SLOTS),
    path: random.weighted(VISITED),
    pauseMs: pause(random, 30),
  })
}

export function planRude(seed: number, accounts: number): () => RudeAct {
  const random = createRandom(seed, 'rude')
  return () => ({
    kind: random.weighted(RUDE),
    account: random.below(accounts),
    slot: random.below(SLOTS),
    part: random.next(),
    pauseMs: pause(random, 1500),
  })
}

export function planFaults(seed: number, { weights, meanwhile, maxMs, pauseMs }: FaultPlan): () => FaultAct {
  const random = createRandom(seed, 'faults')
  return () => ({
    kind: random.weighted(weights),
    forMs: random.between(100, maxMs),
    hours: random.between(1, 8),
    which: random.below(1000),
    meanwhile: random.weighted(meanwhile),
    pauseMs: pause(random, pauseMs),
  })
}

/** Often short, seldom long. */
const pause = (random: Random, maxMs: number): number => Math.round(maxMs * random.next() ** 2)
