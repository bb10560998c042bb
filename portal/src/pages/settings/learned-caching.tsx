/** Whether the edge keeps pages by the content that they are made of, and for how long. */
import { useState } from 'react'
import type { Environment } from '../../api/types.ts'
import { Button, ExternalLink } from '../../components/controls/button.tsx'
import { Form, FormActions, isAllInFields, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useSettings } from '../../components/feedback/use-settings.ts'
import { Panel } from '../../components/layout/panel.tsx'
import { wholeNumber } from './whole-number.ts'

type Props = { environment: Environment; canWrite: boolean }

const FIELD = 'learnedCaching.maxAgeSeconds'
const SECONDS_AT_FIRST = '3600'

export function LearnedCaching({ environment, canWrite }: Props) {
  const { learnedCaching } = environment
  return (
    <Panel title="Learned caching">
      <p>
        Pages that the app renders on request are kept at the edge, for visitors without cookies, together with which
        content each of them shows. When the CMS calls Purge Cache and names what changed, only pages with that content
        are rendered again. <ExternalLink href="/docs/guides/learned-caching">More about learned caching</ExternalLink>
      </p>
      {!canWrite && (
        <p>{learnedCaching ? `Pages are kept for ${learnedCaching.maxAgeSeconds} seconds at most.` : 'It is off.'}</p>
      )}
      {canWrite && <Change key={JSON.stringify(learnedCaching)} environment={environment} />}
    </Panel>
  )
}

function Change({ environment }: { environment: Environment }) {
  const { learnedCaching: before } = environment
  const [text, setText] = useState(before ? String(before.maxAgeSeconds) : SECONDS_AT_FIRST)
  const seconds = wholeNumber(text)
  const isSame = before?.maxAgeSeconds === seconds

  const settings = useSettings(environment, (now) => JSON.stringify(now.learnedCaching) === JSON.stringify(before))

  async function set(next: Environment['learnedCaching']) {
    const switched = next ? 'Learned caching is on, once the app has started anew.' : 'Learned caching is off.'
    await settings.save({ learnedCaching: next }, before && next ? 'Saved.' : switched)
  }

  return (
    <Form label="Learned caching" onSubmit={() => seconds !== undefined && !isSame && set({ maxAgeSeconds: seconds })}>
      <TextField
        label="Pages are kept for, in seconds"
        name={FIELD}
        inputMode="numeric"
        autoComplete="off"
        value={text}
        problem={settings.problem}
        fault={seconds === undefined ? 'must be a whole number' : undefined}
        hint="1 to 604800, which is a week. A page is rendered again earlier if its content changes."
        onChange={({ target }) => setText(target.value)}
      />
      {!isAllInFields(settings.problem, [FIELD]) && <ProblemNote problem={settings.problem} />}
      <FormActions>
        <Button type="submit" busy={settings.isBusy} disabled={seconds === undefined || isSame}>
          {before ? 'Save' : 'Switch learned caching on'}
        </Button>
        {before && (
          <Button busy={settings.isBusy} onClick={() => set(null)}>
            Switch it off
          </Button>
        )}
      </FormActions>
    </Form>
  )
}
