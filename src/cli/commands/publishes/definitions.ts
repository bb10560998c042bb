/** The definitions of commands about publishes. Their code is loaded when they are run. */
import { resources } from '../../../contract/index.ts'
import { type ClientCommand, ENVIRONMENT_OPTIONS } from '../../command.ts'
import { LIMIT_OPTION } from '../../options.ts'
import { KINDS } from './kinds.ts'

export const PUBLISH_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'publishes',
    positionals: [],
    summary: 'List the publishes of an environment: how long each waited, was built, and took to reach visitors',
    options: {
      kind: { type: 'string', oneOf: Object.keys(KINDS), describe: 'Only builds, or only purges.' },
      ...LIMIT_OPTION,
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./publishes.ts')).listPublishes(call),
  },
  {
    name: 'publishes times',
    positionals: [],
    summary: 'Show how long publishes of an environment take, as percentiles',
    options: {
      range: {
        type: 'string',
        oneOf: [...resources.TRAFFIC_RANGES],
        describe: 'How far back; 7d unless it is given.',
      },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./publishes.ts')).showTimes(call),
  },
  {
    name: 'publishes promise',
    positionals: ['SECONDS'],
    summary: 'Set how long a publish may take before it counts as late and is a notice; none for no promise',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./publishes.ts')).setPromise(call),
  },
]
