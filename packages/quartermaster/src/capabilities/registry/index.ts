import { defineCapability, defineModule } from '../../core/catalogue/index.ts'
import { createRecheck, createReload } from './reload.ts'
import { createStatus } from './status.ts'

/**
 * Looking after what is defined and what works. It shows every tool and dependency, granted or not, so it is for agents
 * that fix things.
 */
export default defineModule({
  needs: ['registry'],
  create({ registry }) {
    return defineCapability({
      key: 'registry',
      title: 'Registry',
      short: 'See what is defined and what works, have it looked at again, and load changed definitions.',
      inward: true,
      tools: [createStatus(registry), createRecheck(registry), createReload(registry)],
    })
  },
})
