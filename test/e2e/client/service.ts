/** The service that the tests of this folder share, with an environment in which a small server is live. */
import { after } from 'node:test'
import { type Client, createClient, type NamePath, pathOf } from '../../../src/client/index.ts'
import { nodeServer, untilDone, upload } from '../../support/service/deploy.ts'
import { createApp, createEnvironment } from '../../support/service/environment.ts'
import { type Login, startService } from '../../support/service/service.ts'

export const service = await startService({ after })
export const as = await service.login('developer')

export const clientAs = (authorization: Login): Client => createClient({ url: service.api, authorization })

const body = {
  displayName: 'Production',
  branch: 'uploadable',
  cmsEnvironment: 'cms',
  shellVariables: [{ key: 'API_KEY', value: 'k3y-of-the-shop' }],
}
const app = await createApp(service, as, { app: 'shop', region: 'UK' })
export const environment = await createEnvironment(service, as, { app, body })
export const path: NamePath = pathOf(environment.name)

const WRITES = `console.log('asked for ' + request.url); console.log('\\u001b[31mred\\u0007\\u202ethgir')`
export const first = await untilDone(
  service,
  as,
  (await upload(service, as, environment.name, nodeServer('first', WRITES))).json.name,
)
