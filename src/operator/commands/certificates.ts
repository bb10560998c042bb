/** Certificates of the portal's own name and the wildcard. Their code is loaded when they are run. */
import { JSON_OPTION } from '../../contract/index.ts'
import type { Command } from '../command.ts'

const code = () => import('../certificates.ts')

export const serviceCertificates: readonly Command[] = [
  {
    name: 'service-certificates',
    positionals: [],
    summary: "List the certificates of the portal's name and of all environments together, and why one is missing",
    options: JSON_OPTION,
    run: async (call) => (await code()).list(call),
  },
  {
    name: 'service-certificates upload',
    positionals: ['CHAIN', 'KEY'],
    summary: 'Use a certificate of your own for the portal or all environments: PEM files of the chain and its key',
    options: JSON_OPTION,
    run: async (call) => (await code()).upload(call),
  },
  {
    name: 'service-certificates delete',
    positionals: ['NAME'],
    summary: 'Delete an uploaded certificate of the operator, by a name that it is for, or its id',
    options: {},
    run: async (call) => (await code()).remove(call),
  },
  {
    name: 'service-certificates retry',
    positionals: ['NAME'],
    summary: 'Let the service try again at once to get a certificate of the operator',
    options: {},
    run: async (call) => (await code()).retry(call),
  },
]
