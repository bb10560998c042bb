/** What operators see of the processes and machines of the installation. */
import { array, boolean, integer, object, oneOf, optional, type Static, string } from '../schema.ts'
import { TRIGGERS } from './operation.ts'

const process = string({ description: 'The name of its machine, or the start of an id of it, and the process id.' })
const version = optional(string({ description: 'Of Headland. Absent where the process is not on record.' }))

const leader = object({
  process: string({ description: 'Its host, and the process id.' }),
  term: integer({ description: 'Rises with each new leader.' }),
  silentSeconds: integer({ description: 'Since it was last seen. Means nothing where `shared` is false.' }),
})

const control = object({
  process,
  version,
  leading: boolean({ description: 'False also where the name of the leader does not tell which process it is.' }),
  edges: integer({ description: 'Edges that follow it.' }),
  nodes: integer({ description: 'Nodes that follow it.' }),
})

const edge = object({
  process,
  control: string({ description: 'The control process that it follows.' }),
  behind: integer({ description: 'Purges that it may not have applied yet, at most.' }),
})

const worker = object({
  process,
  builds: integer({ description: 'What it builds now.' }),
  places: optional(integer({ description: 'Builds that it does at a time. Absent where it is not on record.' })),
  version,
  silentSeconds: integer({ description: 'Since it was last seen; it is forgotten after an hour.' }),
})

const node = object({
  name: string({ description: 'Its host name.' }),
  address: string(),
  region: string({ description: 'As in `EU-W`; empty: no app runs there.' }),
  state: string({
    description: 'Of the swarm: `ready`, `down`, `drain` or `pause`; empty before the leader has looked.',
  }),
  confirmed: boolean({ description: 'It keeps apps apart, by the rules that are in use now.' }),
  instances: integer({ description: 'Instances of apps that run or start there.' }),
  memoryBytes: integer({ description: '0 where it is not known.' }),
  promisedBytes: integer({ description: 'What these instances may use at most.' }),
  engine: string({ description: 'The version of Docker; empty where it is not known.' }),
  version: string({ description: 'Of Headland; empty where its role does not run there.' }),
})

const work = object({
  process,
  queue: string(),
  trigger: oneOf(TRIGGERS),
  phase: string(),
  operation: string({ description: '`accounts/…/environments/{environment}/operations/{operation}`' }),
})

export const CLUSTER_FINDING_STATES = ['weaker', 'broken'] as const

const finding = object({
  part: string({ description: 'What it is about, as in `node berlin-1`.' }),
  state: oneOf(CLUSTER_FINDING_STATES, { description: '`broken`: something does not work.' }),
  found: string(),
  advice: string({ description: 'What to do about it.' }),
})

export const cluster = object(
  {
    shared: boolean({ description: 'Several control processes may use the database.' }),
    version: string({ description: 'Of the process that has answered.' }),
    leader: optional(leader),
    controls: array(control),
    edges: array(edge),
    workers: array(worker, { description: 'Processes that build.' }),
    nodes: array(node, { description: 'Machines that run apps, by region.' }),
    work: array(work, { description: 'What is being done, and by which process.' }),
    findings: array(finding, { description: 'What is wrong, and what to do about it; what is broken comes first.' }),
    counts: object(
      {
        controls: integer(),
        edges: integer(),
        workers: integer(),
        nodes: integer(),
        work: integer(),
        findings: integer(),
      },
      { description: 'How many there are of each. A list above has 200 at most.' },
    ),
  },
  { title: 'Cluster', description: 'The processes and machines of the installation, as the database knows them.' },
)
export type Cluster = Static<typeof cluster>
