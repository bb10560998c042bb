/** The commands `backup` and `restore`. Their code is loaded when they are run. */
import { JSON_OPTION } from '../../contract/index.ts'
import type { Command } from '../command.ts'

export const backup: Command = {
  name: 'backup',
  positionals: ['FILE'],
  summary: 'Write everything that must survive into one file, while the service goes on; - for standard output',
  options: {
    'with-key': {
      type: 'boolean',
      describe: 'Put the master key into it: anyone with the file can then read all secrets.',
    },
    force: { type: 'boolean', describe: 'Replace FILE if it exists.' },
    ...JSON_OPTION,
  },
  run: async (call) => (await import('../backup.ts')).backUp(call),
}

export const restoreBackup: Command = {
  name: 'restore',
  positionals: ['FILE'],
  summary: 'Make a data folder from a backup; - for standard input',
  options: {
    check: { type: 'boolean', describe: 'Only find out whether the backup is whole.' },
    'key-file': {
      type: 'string',
      value: 'FILE',
      describe: 'Your copy of the master key, which proves that the backup is yours.',
    },
    trust: {
      type: 'boolean',
      describe: 'Take a backup that nothing proves to be yours: its author decides what runs on this machine.',
    },
    ...JSON_OPTION,
  },
  run: async (call) => (await import('../backup.ts')).restoreBackup(call),
}
