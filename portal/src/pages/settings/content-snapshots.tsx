/** The servers whose answers to builds are recorded, for when one of them is down. */
import { useState } from 'react'
import type { Environment } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { Form, FormActions, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'

type Props = { environment: Environment; canWrite: boolean }

export function ContentSnapshots({ environment, canWrite }: Props) {
  const hosts = hostsOf(environment)
  return (
    <Panel title="Content snapshots">
      <p>
        What these servers answer to a build is recorded. While one of them is down, a rebuild runs from the last
        recorded answers, is marked as such, and is repeated when the server is back.{' '}
        <ExternalLink href="/docs/guides/content-snapshots">More about content snapshots</ExternalLink>
      </p>
      {canWrite ? (
        <Change key={hosts} environment={environment} />
      ) : (
        <Facts>
          <Fact name="Hosts">{hosts || 'none: it is off'}</Fact>
        </Facts>
      )}
    </Panel>
  )
}

function Change({ environment }: { environment: Environment }) {
  const before = hostsOf(environment)
  const [text, setText] = useState(before)
  const hosts = text.split(/[\s,]+/).filter((host) => host !== '')
  const isSame = hosts.join(', ') === before
  const settings = useSettings(environment, (now) => hostsOf(now) === before)

  async function submit() {
    if (isSame) return
    const contentSnapshots = hosts.length === 0 ? null : { hosts: hosts.map((host) => host.toLowerCase()) }
    await settings.save({ contentSnapshots })
  }

  return (
    <Form label="Content snapshots" onSubmit={submit}>
      <TextField
        label="Hosts of the CMS"
        name="contentSnapshots.hosts"
        mono
        autoComplete="off"
        autoCapitalize="none"
        value={text}
        hint="With commas: cms.example.com, api.example.com:8443. Empty: nothing is recorded."
        onChange={({ target }) => setText(target.value)}
      />
      <ProblemNote problem={settings.problem} />
      <FormActions>
        <Button type="submit" busy={settings.isBusy} disabled={isSame}>
          Save
        </Button>
      </FormActions>
    </Form>
  )
}

const hostsOf = ({ contentSnapshots }: Environment): string => contentSnapshots?.hosts.join(', ') ?? ''
