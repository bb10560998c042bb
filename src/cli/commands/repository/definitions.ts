/** The definitions of commands about the connected repository. Their code is loaded when they are run. */
import { type ClientCommand, ENVIRONMENT_OPTIONS } from '../../command.ts'
import { YES_OPTION } from '../../options.ts'
import { PROVIDERS } from './providers.ts'

export const REPOSITORY_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'repository',
    positionals: [],
    summary: 'Show the repository that an environment follows, and what was last fetched',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./repository.ts')).showRepository(call),
  },
  {
    name: 'repository connect',
    positionals: ['URL'],
    summary:
      'Let an environment follow a branch of a repository elsewhere; a token is read from the terminal or from stdin',
    options: {
      branch: { type: 'string', value: 'BRANCH', describe: 'The branch that is deployed; main unless given.' },
      provider: { type: 'string', oneOf: Object.keys(PROVIDERS), describe: 'Where it is, if the host does not tell.' },
      token: { type: 'boolean', describe: 'Read a token for https and for statuses.' },
      poll: { type: 'string', value: 'MINUTES', describe: 'Look for new commits so often; never unless given.' },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./repository.ts')).connectRepository(call),
  },
  {
    name: 'repository change',
    positionals: [],
    summary: 'Change the branch, the token, the provider or the polling of the connected repository',
    options: {
      branch: { type: 'string', value: 'BRANCH', describe: 'Follow this branch.' },
      provider: { type: 'string', oneOf: Object.keys(PROVIDERS), describe: 'Where it is, if the host does not tell.' },
      token: { type: 'boolean', describe: 'Read another token from the terminal or from stdin.' },
      poll: { type: 'string', value: 'MINUTES', describe: 'Look for new commits so often; 0 is never.' },
      ...ENVIRONMENT_OPTIONS,
    },
    run: async (call) => (await import('./repository.ts')).changeRepository(call),
  },
  {
    name: 'repository regenerate',
    positionals: [],
    summary: 'Make a new secret for the hook of the repository; calls with the old one are refused at once',
    options: { ...YES_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./repository.ts')).regenerateSecret(call),
  },
  {
    name: 'repository fetch',
    positionals: [],
    summary: 'Fetch and deploy the branch now',
    options: ENVIRONMENT_OPTIONS,
    run: async (call) => (await import('./repository.ts')).fetchRepository(call),
  },
  {
    name: 'repository disconnect',
    positionals: [],
    summary: 'Follow the repository no longer; what is live stays',
    options: { ...YES_OPTION, ...ENVIRONMENT_OPTIONS },
    run: async (call) => (await import('./repository.ts')).disconnectRepository(call),
  },
]
