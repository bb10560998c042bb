/** Uploads a certificate and its key. */
import { useState } from 'react'
import { call } from '../../api/client.ts'
import { useAction } from '../../api/data.ts'
import { headland } from '../../api/headland.ts'
import type { Certificate } from '../../api/types.ts'
import { Button } from '../../components/controls/button.tsx'
import { Curl } from '../../components/controls/curl.tsx'
import { Dialog, DialogActions } from '../../components/controls/dialog.tsx'
import { AreaField, Form, isAllInFields } from '../../components/controls/field.tsx'
import { ProblemNote } from '../../components/feedback/problem-note.tsx'
import { useToast } from '../../components/feedback/toasts.tsx'

export function Upload({ account, onClose }: { account: string; onClose(): void }) {
  const [chain, setChain] = useState('')
  const [privateKey, setPrivateKey] = useState('')
  const say = useToast()
  const path = `/v1/accounts/${account}/certificates`
  const body = { chain, privateKey }
  const upload = useAction(() => call<Certificate>(path, { method: 'POST', body }), {
    refreshes: [`accounts/${account}/certificates`],
  })

  async function submit() {
    const made = await upload.run()
    if (!made) return
    say(`The certificate is used for ${made.usedFor.join(', ')}.`)
    onClose()
  }

  return (
    <Dialog title="Upload certificate" onClose={onClose} wide>
      <Form label="Upload certificate" onSubmit={submit}>
        <AreaField
          label="Certificate"
          name="chain"
          mono
          value={chain}
          onChange={(event) => setChain(event.target.value)}
          problem={upload.problem}
          autoComplete="off"
          required
          hint="As PEM: the certificate of the site first, then those of its issuers. It must be for a domain of this account."
        />
        <AreaField
          label="Private key"
          name="privateKey"
          mono
          value={privateKey}
          onChange={(event) => setPrivateKey(event.target.value)}
          problem={upload.problem}
          autoComplete="off"
          required
          hint="As PEM, without a password. It is stored sealed, and never shown again."
        />
        {!isAllInFields(upload.problem, ['chain', 'privateKey']) && <ProblemNote problem={upload.problem} />}
        <Curl
          command={headland(['certificates', 'upload', 'chain.pem', 'key.pem'], { account })}
          method="POST"
          path={path}
          body={{ chain: '…', privateKey: '…' }}
        />
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button kind="primary" type="submit" busy={upload.isBusy} disabled={chain === '' || privateKey === ''}>
            Upload
          </Button>
        </DialogActions>
      </Form>
    </Dialog>
  )
}
