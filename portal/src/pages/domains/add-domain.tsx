/** Adds one name to the list; an error of the service is shown beside the field. */
import { useState } from 'react'
import { useAction } from '../../api/data.ts'
import type { Place } from '../../api/names.ts'
import { Button } from '../../components/controls/button.tsx'
import { Form, FormActions, TextField } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'
import { changeDomains } from './change-domains.ts'
import { hostIn } from './site-address.ts'

type Props = { place: Place /** With the name as the service keeps it. */; onAdded(domain: string): void }

export function AddDomain({ place, onAdded }: Props) {
  const [typed, setTyped] = useState('')
  const say = useToast()

  const add = useAction(
    async (domain: string) => {
      const { before, after } = await changeDomains(place.name, ({ domains }) => ({ domains: [domain, ...domains] }))
      return after.find((each) => !before.includes(each)) ?? domain
    },
    { refreshes: [`${place.name}/domains`, place.name] },
  )

  async function submit() {
    const domain = hostIn(typed)
    const kept = await add.run(domain)
    if (kept === undefined) return
    setTyped('')
    onAdded(kept)
    say(kept === domain.toLowerCase() ? `${kept} is added.` : `${domain} is added, in its ASCII form ${kept}.`)
  }

  const { problem } = add
  // Errors name the first domain of the list, since the new one is sent first.
  const fault = problem?.fields['domains[0]'] ?? (problem?.reason === 'DOMAIN_TAKEN' ? problem.message : undefined)

  return (
    <Form label="Add a domain" onSubmit={submit}>
      <TextField
        label="Host name"
        name="domains"
        value={typed}
        fault={fault}
        placeholder="www.example.com"
        hint="Without a scheme, port or path. Letters such as ü are kept in the ASCII form that DNS has."
        autoComplete="off"
        autoCapitalize="none"
        inputMode="url"
        mono
        onChange={(event) => {
          setTyped(event.target.value)
          add.reset()
        }}
      />
      {!fault && <ProblemNote problem={problem} />}
      <FormActions>
        <Button kind="primary" type="submit" busy={add.isBusy} disabled={hostIn(typed) === ''}>
          Add domain
        </Button>
      </FormActions>
    </Form>
  )
}
