from_tor =>(16) Count ->(0) Count -> to_tor
