/** Makes what is live in a preview live in another environment. */
import { useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import { partsOf, placeOf } from '../../api/names.ts'
import type { Environment, Promotion } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { Form, SelectField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { environmentPath } from '../../paths.ts'

type Props = { preview: Environment; targets: readonly Environment[]; onClose(): void }

export function Promote({ preview, targets, onClose }: Props) {
  const usual = targets.find(({ production }) => production) ?? targets[0]
  const [target, setTarget] = useState(usual?.name ?? '')
  const [mayBuild, setMayBuild] = useState(true)
  const say = useToast()
  const [, go] = useLocation()
  const { account, app } = partsOf(preview.name)
  const title = targets.find(({ name }) => name === target)?.displayName ?? ''
  const body = { target, ...(mayBuild ? {} : { build: false }) }
  const path = `/v1/${preview.name}:promote`
  const promote = useAction(() => call<Promotion>(path, { method: 'POST', body }), {
    refreshes: [target, `${target}/operations`],
  })

  async function submit() {
    const asked = await promote.run()
    if (!asked) return
    const names = asked.differing.join(', ')
    say(
      asked.built
        ? `${title} is being built, since it has other values of: ${names}.`
        : `The same output goes live in ${title}. Nothing is built.`,
    )
    go(environmentPath(placeOf(account, app, partsOf(target).environment)))
  }

  return (
    <Dialog title={`Promote ${preview.displayName}`} onClose={onClose}>
      <Form label="Promote" onSubmit={submit}>
        <SelectField
          label="To"
          name="target"
          value={target}
          onChange={(event) => {
            promote.reset()
            setTarget(event.target.value)
          }}
          options={targets.map(({ name, displayName }) => ({ value: name, text: displayName }))}
          hint="Visitors of this environment get what is live in the preview now, with the variables of the environment."
        />
        <SelectField
          label="If variables or settings of the build differ"
          name="build"
          value={mayBuild ? 'build' : 'refuse'}
          onChange={(event) => {
            promote.reset()
            setMayBuild(event.target.value === 'build')
          }}
          options={[
            { value: 'build', text: 'Build the same source for it' },
            { value: 'refuse', text: 'Do nothing, and say what differs' },
          ]}
        />
        <ProblemNote problem={promote.problem} />
        <Curl
          command={headland(['promote', preview.displayName], { account, app, to: title })}
          method="POST"
          path={path}
          body={body}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={promote.isBusy}>
            Promote
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
