/** Custom host names of an environment. */
import { etagOf, expectedEtag } from '../../etag.ts'
import { LIMITS } from '../../limits.ts'
import { array, object, optional, type Static, string } from '../../schema.ts'

const domainNames = array(
  string({
    maxLength: 254,
    description: 'A host name, as in `www.example.com`; one of IDNA may be written as it is read.',
  }),
  { description: `At most ${LIMITS.domains}. A name belongs to one environment of the instance.` },
)

const domainRedirect = object(
  {
    domain: string({ maxLength: 254, description: 'The host name that redirects; one of the list.' }),
    to: string({
      maxLength: 254,
      description: 'Where it redirects to: another one of the list, which does not redirect itself.',
    }),
  },
  { title: 'DomainRedirect' },
)
export type DomainRedirect = Static<typeof domainRedirect>

export const newDomains = object(
  {
    domains: domainNames,
    redirects: optional(
      array(domainRedirect, {
        description:
          'All redirects. Left out, those stay whose two names are in the list. Visitors of `domain` get a 308 to the same path and query at `to`.',
      }),
    ),
    etag: expectedEtag,
  },
  { title: 'NewDomains', description: 'The whole list.' },
)
export type NewDomains = Static<typeof newDomains>

export const domains = object(
  {
    domains: array(string(), { description: 'In alphabetical order, as ASCII in lower case.' }),
    redirects: array(domainRedirect, { description: 'Host names of the list that redirect to another one of it.' }),
    nextPageToken: string({ description: 'Empty: there is one page.' }),
    etag: etagOf('the list'),
  },
  { title: 'DomainList' },
)
export type Domains = Static<typeof domains>
