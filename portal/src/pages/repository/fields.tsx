/** How a repository is followed: the fields that connecting and changing have in common. */
import type { Problem } from '../../api/problem.ts'
import type { Repository } from '../../api/types.ts'
import { SelectField, TextField } from '../../components/controls/field.tsx'
import { PROVIDERS, pollingOptions } from './words.ts'

/** As the fields have them: texts. */
export type Values = { branch: string; token: string; provider: string; poll: string; statuses: string }

/** The server finds out the provider by the host, or there is none that it knows. */
const NO_PROVIDER = ''
const [ON, OFF] = ['on', 'off']

export const FIELD_NAMES = ['branch', 'token', 'provider', 'pollMinutes', 'sendsStatuses']

export const NEW: Values = { branch: 'main', token: '', provider: NO_PROVIDER, poll: '', statuses: ON }

export const valuesOf = ({ branch, provider, pollMinutes, sendsStatuses }: Repository): Values => ({
  branch,
  token: '',
  provider: provider ?? NO_PROVIDER,
  poll: pollMinutes === null ? '' : String(pollMinutes),
  statuses: sendsStatuses ? ON : OFF,
})

/** What differs, as the API takes it, without the token. */
export const changesOf = (before: Values, { branch, provider, poll, statuses }: Values) => ({
  ...(branch === before.branch ? {} : { branch }),
  ...(provider === before.provider ? {} : { provider: provider === NO_PROVIDER ? null : provider }),
  ...(poll === before.poll ? {} : { pollMinutes: poll === '' ? null : Number(poll) }),
  ...(statuses === before.statuses ? {} : { sendsStatuses: statuses === ON }),
})

/** The same as options of the command line, which has none for statuses. */
export const optionsOf = (before: Values, { branch, provider, poll }: Values) => ({
  ...(branch === before.branch ? {} : { branch }),
  ...(provider === before.provider || provider === NO_PROVIDER ? {} : { provider: provider.toLowerCase() }),
  ...(poll === before.poll ? {} : { poll: poll || '0' }),
})

type Props = {
  values: Values
  before: Values
  problem: Problem | undefined
  tokenHint: string
  /** What it means that no provider is chosen. */
  noProvider: string
  onChange(values: Values): void
}

export function RepositoryFields({ values, before, problem, tokenHint, noProvider, onChange }: Props) {
  const take = (field: keyof Values) => (event: { target: { value: string } }) =>
    onChange({ ...values, [field]: event.target.value })
  return (
    <>
      <TextField
        label="Branch"
        name="branch"
        autoComplete="off"
        value={values.branch}
        onChange={take('branch')}
        problem={problem}
      />
      <TextField
        label="Token"
        name="token"
        type="password"
        autoComplete="off"
        value={values.token}
        onChange={take('token')}
        problem={problem}
        hint={tokenHint}
      />
      <SelectField
        label="Provider"
        name="provider"
        value={values.provider}
        onChange={take('provider')}
        options={[
          { value: NO_PROVIDER, text: noProvider },
          ...Object.entries(PROVIDERS).map(([value, text]) => ({ value, text })),
        ]}
      />
      <SelectField
        label="Look for commits"
        name="pollMinutes"
        value={values.poll}
        onChange={take('poll')}
        options={pollingOptions(before.poll)}
      />
      <SelectField
        label="Commit statuses"
        name="sendsStatuses"
        value={values.statuses}
        onChange={take('statuses')}
        options={[
          { value: ON, text: 'Sent, where the token may' },
          { value: OFF, text: 'Off' },
        ]}
      />
    </>
  )
}
