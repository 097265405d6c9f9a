/** Whether everything has been looked at once, and when. */
export interface Readiness {
  is(): boolean
  readonly reached: Promise<void>
  become(): void
  end(): void
}

export function createReadiness(): Readiness {
  let isReady = false
  let reach = () => {}
  const reached = new Promise<void>(resolve => {
    reach = resolve
  })
  return {
    is: () => isReady,
    reached,
    become() {
      isReady = true
      reach()
    },
    end() {
      isReady = false
    },
  }
}
