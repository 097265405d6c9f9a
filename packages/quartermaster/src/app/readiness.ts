import { AppError } from '../contracts/index.ts'

/** How far a start has come. */
export interface Readiness {
  /** Whether agents and tools are read: before, a token would open what its agent may not have, or nothing. */
  isOpen(): boolean
  /** Rejects when it ends before. */
  readonly opened: Promise<void>
  open(): void
  /** Whether everything has been looked at once. */
  is(): boolean
  readonly reached: Promise<void>
  become(): void
  end(): void
  /** Whether it is on its way out. */
  isOver(): boolean
}

export function createReadiness(): Readiness {
  let isOpen = false
  let isReady = false
  let isOver = false
  let open = () => {}
  let giveUp = (_why: AppError) => {}
  let reach = () => {}
  const opened = new Promise<void>((resolve, reject) => {
    open = resolve
    giveUp = reject
  })
  const reached = new Promise<void>(resolve => {
    reach = resolve
  })
  // Whoever waits for it takes the rejection, and mostly nobody does.
  opened.catch(() => {})
  return {
    isOpen: () => isOpen,
    opened,
    open() {
      isOpen = true
      open()
    },
    is: () => isReady,
    reached,
    become() {
      isReady = true
      reach()
    },
    end() {
      isReady = false
      isOver = true
      giveUp(new AppError('STOPPING', 'Quartermaster is stopping.'))
    },
    isOver: () => isOver,
  }
}
