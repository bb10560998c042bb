/** Makes a schedule. */
import { useId, useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { at, headland } from '../../api/headland.ts'
import type { Place } from '../../api/names.ts'
import type { Schedule, TriggerAction } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form, isAllInFields, SelectField, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { ACTIONS } from '../triggers/words.ts'
import { PRESETS, timesIn, typedAction } from './words.ts'

const OTHER = 'other'
const FIELDS = ['action', 'cron', 'timeZone']

export function NewSchedule({ place, path, onClose }: { place: Place; path: string; onClose(): void }) {
  const [action, setAction] = useState<TriggerAction>('REBUILD')
  const [cron, setCron] = useState('0 3 * * *')
  const [isOther, setOther] = useState(false)
  const [timeZone, setTimeZone] = useState(() => Intl.DateTimeFormat().resolvedOptions().timeZone)
  const zones = useId()
  const say = useToast()
  const body = { action, cron, timeZone }
  const make = useAction(() => call<Schedule>(`/v1/${path}`, { method: 'POST', body }), { refreshes: [path] })

  function choose(preset: string) {
    make.reset()
    setOther(preset === OTHER)
    if (preset !== OTHER) setCron(preset)
  }

  async function submit() {
    const made = await make.run()
    if (!made) return
    say(`It runs next on ${timesIn(made.nextTimes.slice(0, 1), made.timeZone)}.`)
    onClose()
  }

  return (
    <Dialog title="New schedule" onClose={onClose}>
      <Form label="New schedule" onSubmit={submit}>
        <SelectField
          label="What"
          name="action"
          value={action}
          onChange={(event) => setAction(event.target.value as TriggerAction)}
          options={Object.entries(ACTIONS).map(([value, text]) => ({ value, text }))}
        />
        <SelectField
          label="When"
          name="preset"
          value={isOther ? OTHER : cron}
          onChange={(event) => choose(event.target.value)}
          options={[...PRESETS, { value: OTHER, text: 'By a cron expression' }]}
        />
        {isOther && (
          <TextField
            label="Cron expression"
            name="cron"
            mono
            autoComplete="off"
            value={cron}
            onChange={(event) => setCron(event.target.value)}
            problem={make.problem}
            hint="Minute, hour, day of the month, month, day of the week: 30 3 * * MON-FRI."
          />
        )}
        <TextField
          label="Time zone"
          name="timeZone"
          list={zones}
          autoComplete="off"
          value={timeZone}
          onChange={(event) => setTimeZone(event.target.value)}
          problem={make.problem}
        />
        <datalist id={zones}>
          {['UTC', ...Intl.supportedValuesOf('timeZone')].map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
        {!isAllInFields(make.problem, FIELDS) && <ProblemNote problem={make.problem} />}
        <Curl
          command={headland(['schedules', 'create', cron], {
            action: typedAction(action),
            'time-zone': timeZone,
            ...at(place),
          })}
          method="POST"
          path={`/v1/${path}`}
          body={body}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={make.isBusy} disabled={cron.trim() === '' || timeZone === ''}>
            Create schedule
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
