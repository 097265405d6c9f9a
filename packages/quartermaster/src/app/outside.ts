import { program } from '../adapters/probes/index.ts'
import { locatedProgram } from '../adapters/programs/index.ts'
import { AppError } from '../contracts/index.ts'
import type { ProgramDesk, WebDesk } from '../core/catalogue/index.ts'
import { type Clock, remembered } from '../core/kernel/index.ts'
import type { ProgramRunner } from './build-upstreams.ts'

/** What modules may reach outside of this process. */
export interface Outside {
  readonly web: WebDesk
  readonly programs: ProgramDesk
  /** Ends what is under way. */
  close(): Promise<void>
}

export interface OutsideDeps {
  readonly clock: Clock
  readonly runner: ProgramRunner
  readonly projectDir: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export function createOutside({ clock, runner, projectDir, env }: OutsideDeps): Outside {
  const web = createWeb({ clock })
  return {
    web,
    programs: {
      run: runner.run,
      probe: name => program({ command: locatedProgram(name, projectDir) }),
      variable: name => env[name],
    },
    async close() {
      await runner.close()
      await web.close()
    },
  }
}

export interface Web extends WebDesk {
  close(): Promise<void>
}

/** Requests to servers elsewhere. Most projects have no tool that asks one, so that the code is loaded with the first. */
export function createWeb({ clock }: Pick<OutsideDeps, 'clock'>): Web {
  let isUsed = false
  let isClosed = false
  const desk = remembered(async () => (await import('../adapters/http-client/index.ts')).createWebDesk({ clock }))
  return {
    async send(request) {
      if (isClosed) throw new AppError('STOPPING', 'Quartermaster is stopping.')
      isUsed = true
      return (await desk()).send(request)
    },
    async close() {
      isClosed = true
      if (isUsed) (await desk()).close()
    },
  }
}
