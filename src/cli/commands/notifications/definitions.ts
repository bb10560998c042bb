/** The definitions of commands about notifications. Their code is loaded when they are run. */
import { ACCOUNT_OPTIONS, type ClientCommand } from '../../command.ts'
import { LIMIT_OPTION, YES_OPTION } from '../../options.ts'
import { NOTICES } from './kinds.ts'

export const NOTIFICATION_COMMANDS: readonly ClientCommand[] = [
  {
    name: 'notifications',
    positionals: [],
    summary: 'List where an account is told of failed builds and the like',
    options: ACCOUNT_OPTIONS,
    run: async (call) => (await import('./notifications.ts')).listTargets(call),
  },
  {
    name: 'notifications create',
    positionals: ['KIND', '[ADDRESS]'],
    summary:
      'Be told: webhook, slack, discord or teams with a URL, or email with an address; without ADDRESS it is read from the terminal or from stdin',
    options: {
      name: { type: 'string', describe: 'What it is called; else the kind.' },
      about: {
        type: 'string',
        multiple: true,
        oneOf: Object.keys(NOTICES),
        describe: 'What it is told about; all but build-live unless given. May be repeated.',
      },
      'only-app': {
        type: 'string',
        multiple: true,
        value: 'APP',
        describe: 'Only what is about this app, or the whole account. May be repeated.',
      },
      ...ACCOUNT_OPTIONS,
    },
    run: async (call) => (await import('./notifications.ts')).createTarget(call),
  },
  {
    name: 'notifications test',
    positionals: ['ID'],
    summary: 'Send a test to a target, and say whether it arrived',
    options: ACCOUNT_OPTIONS,
    run: async (call) => (await import('./notifications.ts')).testTarget(call),
  },
  {
    name: 'notifications deliveries',
    positionals: ['ID'],
    summary: 'Show what was sent to a target, and what came of it',
    options: { ...LIMIT_OPTION, ...ACCOUNT_OPTIONS },
    run: async (call) => (await import('./notifications.ts')).listDeliveries(call),
  },
  {
    name: 'notifications regenerate',
    positionals: ['ID'],
    summary: 'Make a new key for the signatures of a webhook target; for a day, calls are signed with both',
    options: { ...YES_OPTION, ...ACCOUNT_OPTIONS },
    run: async (call) => (await import('./notifications.ts')).regenerateSecret(call),
  },
  {
    name: 'notifications disable',
    positionals: ['ID'],
    summary: 'Send nothing to a target until it is enabled again',
    options: ACCOUNT_OPTIONS,
    run: async (call) => (await import('./notifications.ts')).disableTarget(call),
  },
  {
    name: 'notifications enable',
    positionals: ['ID'],
    summary: 'Send to a target again',
    options: ACCOUNT_OPTIONS,
    run: async (call) => (await import('./notifications.ts')).enableTarget(call),
  },
  {
    name: 'notifications delete',
    positionals: ['ID'],
    summary: 'Delete a target, with the log of its deliveries',
    options: { ...YES_OPTION, ...ACCOUNT_OPTIONS },
    run: async (call) => (await import('./notifications.ts')).deleteTarget(call),
  },
]
