/**
 * Deploys the first example of the service, with the calls that a user makes: an app, an environment, an upload. The archive
 * is fetched first, so that nothing is created if it cannot be. It ends on the page of the build, which follows the log.
 */
import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { ask, call } from '../../../api/client.ts'
import { useAction } from '../../../api/data.ts'
import { idOf, partsOf, placeOf } from '../../../api/names.ts'
import { CallFailed, type Problem } from '../../../api/problem.ts'
import { likelyRegion } from '../../../api/regions.ts'
import type { Example, NewEnvironment, Operation, Region } from '../../../api/types.ts'
import { uploadArchive } from '../../../api/upload.ts'
import { environmentPath } from '../../../paths.ts'
import { freeNames } from './free-names.ts'

export type ExampleDeploy = {
  start(): Promise<void>
  /** What is being done, in words; undefined while nothing is. */
  step: string | undefined
  problem: Problem | undefined
}

export function useExample(account: string): ExampleDeploy {
  const [, go] = useLocation()
  const [step, setStep] = useState('')
  const isHere = useRef(true)
  useEffect(() => {
    isHere.current = true
    return () => {
      isHere.current = false
    }
  }, [])

  const deploy = useAction(
    async () => {
      setStep('Fetching the example')
      const { examples } = await call<{ examples: Example[] }>('/v1/examples')
      const [example] = examples
      if (!example) throw new Error('The service has no example.')
      const archive = await (await ask(`/v1/${example.name}.zip`)).blob()
      setStep('Creating an app for it')
      const app = await createApp(account)
      setStep('Creating its environment')
      const body: NewEnvironment = { displayName: 'Production', branch: 'uploadable', cmsEnvironment: app }
      const path = `/v1/accounts/${account}/apps/${app}/environments`
      const created = await call<Operation>(path, { method: 'POST', body })
      const place = placeOf(account, app, partsOf(created.name).environment)
      setStep('Uploading it')
      const { signal } = new AbortController()
      const message = `The example ${example.displayName}`
      const { metadata } = await uploadArchive(place.name, archive, { signal, message, onProgress: () => undefined })
      return environmentPath(place, `builds/${idOf(metadata.build)}`)
    },
    { refreshes: [`accounts/${account}/apps`, `accounts/${account}/apps/-/environments`] },
  )

  return {
    async start() {
      const page = await deploy.run()
      // The user may have opened another page meanwhile.
      if (page !== undefined && isHere.current) go(page)
    },
    step: deploy.isBusy || deploy.data !== undefined ? step : undefined,
    problem: deploy.problem,
  }
}

/** Creates an app in the region that the form suggests, under the first name that is free; resolves to the name. */
async function createApp(account: string): Promise<string> {
  const { regions } = await call<{ regions: Region[] }>('/v1/regions')
  const body = { region: likelyRegion(regions, []), uploadable: {} }
  let taken: unknown
  for (const appId of freeNames('example')) {
    try {
      await call(`/v1/accounts/${account}/apps?appId=${appId}`, { method: 'POST', body })
      return appId
    } catch (error) {
      if (!(error instanceof CallFailed) || error.problem.reason !== 'APP_EXISTS') throw error
      taken = error
    }
  }
  throw taken
}
