/** Who may see an environment, and whether search engines may list it. */
import { LIMITS } from '../limits.ts'
import { array, boolean, nullable, object, optional, type Static, string } from '../schema.ts'

export const production = boolean({
  description:
    'Whether it is for the public. Answers of all other environments carry `X-Robots-Tag: noindex`, so that search engines do not list them. False unless given.',
})

const password = string({
  minLength: LIMITS.minProtectionPasswordLength,
  maxLength: LIMITS.maxProtectionPasswordLength,
  pattern: '^[^\\p{Cc}\\p{Cs}]*$',
  'x-form': 'must be text without control characters',
  description:
    'Visitors type it once in 30 days; programs send it by HTTP Basic, with any user name. Never shown again.',
})

const address = string({
  maxLength: 64,
  description: 'An IPv4 or IPv6 address, or a range such as `203.0.113.0/24`.',
})

/** In a change, what is left out stays: a password cannot be read, so it need not be sent again. */
export const changedProtection = object(
  {
    password: optional(nullable(password, { description: 'Left out, it stays as it is. Null: none.' })),
    addresses: optional(
      array(address, {
        maxItems: LIMITS.protectionAddresses,
        description: `At most ${LIMITS.protectionAddresses}. Left out, they stay as they are. Empty: all addresses.`,
      }),
    ),
  },
  {
    title: 'ChangedProtection',
    description: 'With a password and addresses, a visitor needs both: one of the addresses, and the password.',
  },
)
export type ChangedProtection = Static<typeof changedProtection>

export const protection = object(
  {
    hasPassword: boolean({ description: 'Whether visitors are asked for a password.' }),
    addresses: array(string(), {
      description: 'The addresses and ranges from which it can be seen. Empty: from everywhere.',
    }),
  },
  { title: 'Protection' },
)
export type Protection = Static<typeof protection>
