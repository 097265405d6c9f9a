import { defineCapability, defineDependency, defineModule, defineTool } from 'quartermaster'
import { secret } from 'quartermaster/probes'

const password = defineDependency({ name: 'mail-password', probe: secret({ name: 'mail-password' }) })

export default defineModule({
  needs: ['secrets'],
  create({ secrets }) {
    const check = defineTool({
      name: 'check_password',
      short: 'Tells whether the mail password is long enough.',
      input: { type: 'object', properties: {}, additionalProperties: false },
      requires: ['mail-password'],
      mutates: false,
      handler: () => ((secrets.get('mail-password') ?? '').length >= 8 ? 'Long enough.' : 'Too short.'),
    })
    return defineCapability({ key: 'mail', short: 'Mail.', dependencies: [password], tools: [check] })
  },
})
