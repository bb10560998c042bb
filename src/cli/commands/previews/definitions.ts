/** The definitions of commands about previews. Their code is loaded when they are run. */
import { type ClientCommand, ENVIRONMENT_OPTIONS } from '../../command.ts'
import { YES_OPTION } from '../../options.ts'

const { env: _, ...APP_OPTIONS } = ENVIRONMENT_OPTIONS

export const PREVIEW_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'previews',
    positionals: [],
    summary: 'List the previews of an app, and when each of them expires',
    options: APP_OPTIONS,
    run: async (call) => (await import('./previews.ts')).listPreviews(call),
  },
  {
    name: 'previews delete',
    positionals: ['NAME'],
    summary: 'Delete a preview, by its name, its branch or its id',
    options: { ...YES_OPTION, ...APP_OPTIONS },
    run: async (call) => (await import('./previews.ts')).deletePreview(call),
  },
  {
    name: 'previews settings',
    positionals: [],
    summary: 'Show or change what the previews of an app get, and for how long they stay',
    options: {
      enable: { type: 'boolean', describe: 'Make previews of branches.' },
      disable: { type: 'boolean', describe: 'Make no more previews; those that exist stay.' },
      from: {
        type: 'string',
        value: 'ENV',
        describe:
          'The environment whose variables and protection they get; default for the one that search engines list.',
      },
      secrets: { type: 'string', oneOf: ['yes', 'no'], describe: 'Whether they get its secrets, too.' },
      'max-count': { type: 'string', value: 'NUMBER', describe: 'How many the app has at a time.' },
      'idle-days': {
        type: 'string',
        value: 'NUMBER',
        describe: 'Days without a deployment and a visit after which one is deleted.',
      },
      ...APP_OPTIONS,
    },
    run: async (call) => (await import('./previews.ts')).previewSettings(call),
  },
  {
    name: 'promote',
    positionals: ['PREVIEW'],
    summary: 'Make what is live in a preview live in another environment, without a build where that is possible',
    options: {
      to: { type: 'string', value: 'ENV', describe: 'The environment that gets it, such as Production.' },
      'no-build': { type: 'boolean', describe: 'Refuse where it would have to be built, and say why.' },
      ...YES_OPTION,
      ...APP_OPTIONS,
    },
    notes: [
      'The same output is used if a build of the target would see the same variables and settings; it runs with the variables of',
      'the target. Otherwise the same archive is built there, and the names of what differs are printed.',
    ],
    run: async (call) => (await import('./promote.ts')).promote(call),
  },
]
