import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createRecheck, createReload } from './reload.ts'
import { createStatus } from './status.ts'

/** State of all definitions, granted or not, for agents that fix things. */
export default defineModule({
  needs: ['registry'],
  create({ registry }) {
    return defineCapability({
      key: 'registry',
      title: 'Registry',
      short: 'See what is defined and what works, check it again, and load changed definitions.',
      inward: true,
      tools: [createStatus(registry), createRecheck(registry), createReload(registry)],
    })
  },
})
