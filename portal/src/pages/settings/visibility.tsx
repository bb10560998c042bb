/** Who may see the site, and whether search engines may list it. */
import { useState } from 'react'
import type { Environment } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { useConfirm } from '../../components/controls/confirm.tsx'
import {
  AreaField,
  Form,
  FormActions,
  isAllInFields,
  SelectField,
  TextField,
} from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'
import { addressesIn, addressFault, FAULT_FIELD } from './addresses.ts'

const SEARCH_ENGINES = [
  { value: 'no', text: 'Not production: they are told not to list it' },
  { value: 'yes', text: 'Production: they may list it' },
] as const

const MIN_LENGTH = 8
const FIELDS = ['production', 'protection.password', FAULT_FIELD] as const

type Props = { environment: Environment; canWrite: boolean }

export function Visibility({ environment, canWrite }: Props) {
  const { production, protection } = environment
  return (
    <Panel title="Visibility">
      <p>
        A password and a list of addresses keep everyone else out. A change applies at once, and nothing is built or
        started again. <ExternalLink href="/docs/guides/protection">More about protected environments</ExternalLink>
      </p>
      {canWrite ? (
        <Change key={JSON.stringify([production, protection])} environment={environment} />
      ) : (
        <Facts>
          <Fact name="Search engines">{production ? SEARCH_ENGINES[1].text : SEARCH_ENGINES[0].text}</Fact>
          <Fact name="Password">{protection.hasPassword ? 'asked for' : 'none'}</Fact>
          <Fact name="Addresses">{protection.addresses.join(', ') || 'all'}</Fact>
        </Facts>
      )}
    </Panel>
  )
}

type Body = { production?: boolean; protection?: { password?: string | null; addresses?: string[] } }

function Change({ environment }: { environment: Environment }) {
  const { production, protection } = environment
  const confirm = useConfirm()
  const [isProduction, setProduction] = useState(production)
  const [password, setPassword] = useState('')
  const [text, setText] = useState(protection.addresses.join('\n'))
  const addresses = addressesIn(text)
  const isAddressChanged = addresses.join() !== protection.addresses.join()
  const isShort = password !== '' && [...password].length < MIN_LENGTH
  const isChanged = isProduction !== production || password !== '' || isAddressChanged

  const settings = useSettings<Body>(
    environment,
    (now) => now.production === production && JSON.stringify(now.protection) === JSON.stringify(protection),
  )

  async function send(body: Body) {
    if (await settings.save(body)) setPassword('')
  }

  async function submit() {
    if (!isChanged || isShort) return
    const changed = {
      ...(password === '' ? {} : { password }),
      ...(isAddressChanged ? { addresses } : {}),
    }
    await send({
      ...(isProduction === production ? {} : { production: isProduction }),
      ...(Object.keys(changed).length === 0 ? {} : { protection: changed }),
    })
  }

  const removePassword = () =>
    confirm({
      title: 'Remove the password?',
      stops: [
        protection.addresses.length > 0
          ? 'Everyone at one of the addresses can see the site.'
          : 'Everyone who knows the address can see the site.',
      ],
      label: 'Remove password',
      run: () => send({ protection: { password: null } }),
    })

  return (
    <Form label="Visibility" onSubmit={submit}>
      <SelectField
        label="Search engines"
        name="production"
        options={SEARCH_ENGINES}
        value={isProduction ? 'yes' : 'no'}
        problem={settings.problem}
        hint="Choose production for the site that the public should find."
        onChange={({ target }) => setProduction(target.value === 'yes')}
      />
      <TextField
        label={protection.hasPassword ? 'New password' : 'Password'}
        name="protection.password"
        type="password"
        autoComplete="new-password"
        maxLength={128}
        value={password}
        problem={settings.problem}
        fault={isShort ? `must have at least ${MIN_LENGTH} characters` : undefined}
        hint={
          protection.hasPassword
            ? 'A password is set. Another one ends the access of all who know the present one. Empty: it stays.'
            : 'Visitors are asked for it once in 30 days. It is not shown again. Empty: none.'
        }
        onChange={({ target }) => {
          settings.reset()
          setPassword(target.value)
        }}
      />
      <AreaField
        label="Addresses"
        name={FAULT_FIELD}
        mono
        rows={3}
        value={text}
        problem={settings.problem}
        fault={addressFault(settings.problem, addresses)}
        hint="One on each line, as 203.0.113.7, 203.0.113.0/24 or 2001:db8::/32. Empty: all."
        onChange={({ target }) => {
          settings.reset()
          setText(target.value)
        }}
      />
      {!isAllInFields(settings.problem, FIELDS) && !addressFault(settings.problem, addresses) && (
        <ProblemNote problem={settings.problem} />
      )}
      <FormActions>
        <Button type="submit" busy={settings.isBusy} disabled={!isChanged || isShort}>
          Save
        </Button>
        {protection.hasPassword && <Button onClick={removePassword}>Remove password</Button>}
      </FormActions>
    </Form>
  )
}
