// An address at which there is no view.
import { Link } from '@tanstack/react-router'
import { Empty } from '../ui/empty-page.tsx'
import text from '../ui/text.module.css'
import { ViewTitle } from '../ui/view-title.tsx'

export function NotFound() {
  return (
    <>
      <ViewTitle title="Not found" />
      <Empty title="There is nothing at this address">
        <Link to="/" className={text.link}>
          To the overview
        </Link>
      </Empty>
    </>
  )
}
