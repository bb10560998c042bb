/** Facts about an address with defaults, so that a test states only what matters to it. */
import type { Build } from '../../../src/builds/index.ts'
import type { Facts, Live, Stored } from '../../../src/deployments/trace/facts.ts'
import type { Operation } from '../../../src/operations/index.ts'

/** Seconds from the start of one hour; `NOW` is its end. */
export const at = (seconds: number): number => Date.UTC(2026, 0, 1, 12) + seconds * 1000
export const NOW = at(3600)

export const build = (id: string, more: Partial<Build> = {}): Build => ({
  id,
  environmentId: 'environment',
  operationId: `operation of ${id}`,
  trigger: 'UPLOAD',
  isClean: false,
  requestedBy: null,
  isForced: false,
  archive: { digest: `sha256:${'0'.repeat(64)}`, bytes: 1, files: 1 },
  state: 'SUCCEEDED',
  phase: 'DONE',
  plan: null,
  tools: null,
  warnings: [],
  output: null,
  inputs: null,
  isUnchanged: false,
  suspected: null,
  isHeld: false,
  heldReason: null,
  fromSnapshot: null,
  packagesId: null,
  contacts: null,
  caches: [],
  durations: { BUILDING: 12_000 },
  failure: null,
  firstFailure: null,
  createTime: at(0),
  startTime: at(1),
  finishTime: at(21),
  ...more,
})

export const operation = (id: string, more: Partial<Operation> = {}): Operation => ({
  id,
  accountId: 'account',
  appName: 'shop',
  environmentId: 'environment',
  trigger: 'UPLOAD',
  phase: 'DONE',
  build: '',
  deployment: '',
  isUnchanged: false,
  activates: null,
  notBefore: null,
  requestedBy: null,
  message: '',
  commit: null,
  createTime: at(0),
  doneTime: at(21),
  response: {},
  error: null,
  ...more,
})

export const stored = (more: Partial<Stored> = {}): Stored => ({
  status: 200,
  storeTime: at(3570),
  validateTime: at(3570),
  ageSeconds: 30,
  lifetimeSeconds: 60,
  lifetimeFrom: 'cache-control: s-maxage=60',
  isFresh: true,
  deployment: 'deployment 1',
  bytes: 1200,
  tags: [],
  variant: {},
  etag: '"one"',
  lastModified: null,
  digest: null,
  hits: 3,
  place: 'memory',
  ...more,
})

export const answer = (more: Partial<Extract<Facts['origin'], { kind: 'APP' }>> = {}): Facts['origin'] => ({
  kind: 'APP',
  status: 200,
  contentType: 'text/html',
  cacheControl: 's-maxage=60',
  vary: undefined,
  etag: '"one"',
  lastModified: undefined,
  setsCookie: false,
  body: { bytes: 1200, digest: 'a'.repeat(64) },
  ...more,
})

export const live = (more: Partial<Live> = {}): Live => ({
  deployment: 'deployment 1',
  build: build('build 1'),
  time: at(20),
  by: undefined,
  ...more,
})

export const facts = (more: Partial<Facts> = {}): Facts => ({
  now: NOW,
  live: live(),
  lastBuild: build('build 1'),
  lastOperation: operation('operation of build 1'),
  purges: [],
  inspection: { stored: [], lastPurge: null },
  origin: answer(),
  ...more,
})

export const holding = (...objects: Stored[]): Pick<Facts, 'inspection'> => ({
  inspection: { stored: objects, lastPurge: null },
})
