/** The settings of what one account may have and use. */
import { totalmem } from 'node:os'
import { countOrNone, type Setting, setting } from '../setting-texts.ts'

export type AccountConfig = {
  accountBytes: number
  accountApps: number
  accountEnvironments: number
  accountDomains: number
  accountCredentials: number
  accountAwakeApps: number
  accountAppMemory: number
  accountBuilds: number
  accountFiles: number
}

/** Three quarters of the machine's memory, so that the apps of one account never use it up. */
const APP_MEMORY = Math.floor(0.75 * totalmem())

export const ACCOUNT_SETTINGS: { [K in keyof AccountConfig]: Setting<AccountConfig[K]> } = {
  accountBytes: setting('21474836480', 'Bytes that an account may hold on the disk; 0 for no limit.', countOrNone),
  accountApps: setting('500', 'Apps that an account may have; 0 for no limit.', countOrNone),
  accountEnvironments: setting('500', 'Environments that an account may have; 0 for no limit.', countOrNone),
  accountDomains: setting(
    '500',
    'Custom domains that an account may have in all its environments; 0 for no limit.',
    countOrNone,
  ),
  accountCredentials: setting('100', 'API credentials that an account may have; 0 for no limit.', countOrNone),
  accountAwakeApps: setting(
    '100',
    "Apps of an account that are awake at a time; the next one to wake puts the account's longest unvisited one to sleep. 0 for no limit.",
    countOrNone,
  ),
  accountAppMemory: setting(
    String(APP_MEMORY),
    'Bytes of memory that the apps of an account may use together, awake or frozen in their sleep; above it the longest unvisited ones are stopped, frozen ones first. 0 for no limit, as in a cluster where it is not set.',
    countOrNone,
  ),
  accountBuilds: setting(
    '0',
    'Builds of an account at a time; 0: `concurrency` where there is one account, one less where there are several.',
    countOrNone,
  ),
  accountFiles: setting(
    '2000000',
    'Files, folders and links that an account may hold on the disk; 0 for no limit.',
    countOrNone,
  ),
}
