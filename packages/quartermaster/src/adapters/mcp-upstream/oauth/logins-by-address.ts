import type { HttpUpstream } from '../../../contracts/index.ts'
import type { KeptLogin, LoginOwner, UpstreamCredentialStore } from '../../../core/upstreams/index.ts'
import { after } from './at-once.ts'

/** Only what is for the very server of an entry: it may have been pointed at another. */
export interface LoginsByAddress {
  loginOf(owner: LoginOwner, upstream: HttpUpstream): ReturnType<UpstreamCredentialStore['load']>
  /** As it is in the store, whatever was read before. */
  rereadOf(owner: LoginOwner, upstream: HttpUpstream): Promise<KeptLogin | undefined>
}

export function loginsByAddress({ load, reread }: Pick<UpstreamCredentialStore, 'load' | 'reread'>): LoginsByAddress {
  const meant = ({ url }: HttpUpstream) => {
    return (login: KeptLogin | undefined) => (login?.url === url ? login : undefined)
  }
  return {
    loginOf: (owner, upstream) => after(load(owner), meant(upstream)),
    rereadOf: async (owner, upstream) => meant(upstream)(await reread(owner)),
  }
}
