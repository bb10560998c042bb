/** The badge: a picture with the state of the environment, for everyone who has its address. */
import type { Environment } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { CopyText } from '../../components/controls/copy.tsx'
import { Form, FormActions } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Fact, Facts, Panel } from '../../components/layout/panel.tsx'

type Props = { environment: Environment; canWrite: boolean }

export function Badge({ environment, canWrite }: Props) {
  const { name, displayName, badge, url } = environment
  const address = `${location.origin}/v1/${name}/badge.svg`
  return (
    <Panel title="Badge">
      <p>
        A picture with the name of this environment and its state, for a README or a dashboard. While it is on, everyone
        who has its address can see it. <ExternalLink href="/docs/guides/ci#badge">More about badges</ExternalLink>
      </p>
      {badge && (
        <Facts>
          <Fact name="Badge">
            <img src={`/v1/${name}/badge.svg`} alt={`Badge of ${displayName}`} height={20} />
          </Fact>
          <Fact name="Markdown">
            <CopyText text={`[![${textIn(displayName)}](${address})](${url})`} what="the Markdown" />
          </Fact>
          <Fact name="Address">
            <CopyText text={address} what="the address of the badge" />
          </Fact>
        </Facts>
      )}
      {!badge && !canWrite && <p>It is off.</p>}
      {canWrite && <Change environment={environment} />}
    </Panel>
  )
}

function Change({ environment }: { environment: Environment }) {
  const { badge } = environment
  const settings = useSettings(environment, (now) => now.badge === badge)

  async function submit() {
    await settings.save({ badge: !badge }, badge ? 'The badge is off.' : 'The badge is on.')
  }

  return (
    <Form label="Badge" onSubmit={submit}>
      <ProblemNote problem={settings.problem} />
      <FormActions>
        <Button type="submit" busy={settings.isBusy}>
          {badge ? 'Switch the badge off' : 'Switch the badge on'}
        </Button>
      </FormActions>
    </Form>
  )
}

/** Text between the brackets of Markdown. */
const textIn = (text: string): string => text.replace(/[\\[\]]/g, '\\$&')
