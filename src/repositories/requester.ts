import { LIMITS, type resources } from '../contract/index.ts'

/** As builds, deployments and triggers show it: the address without how it is reached. */
export const requesterOf = ({ url, branch }: { url: string; branch: string }): resources.Requester => ({
  kind: 'REPOSITORY',
  name: `${url.replace(/^\w+:\/\/(?:[^@/]*@)?/, '')} ${branch}`.slice(0, LIMITS.requesterLength),
})
